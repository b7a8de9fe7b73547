// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See elf_calls.hpp. Decodes straight on; a byte that is no instruction is stepped over.
#include "profile/elf_calls.hpp"

#include <Zydis/Zydis.h>

namespace omptier {

std::vector<std::uint64_t> calls_in(std::span<const std::uint8_t> code, std::uint64_t start) {
  std::vector<std::uint64_t> calls;
#if defined(__x86_64__)
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  for (std::size_t at = 0; at < code.size();) {
    ZydisDecodedInstruction instruction;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data() + at,
                                                    code.size() - at, &instruction))) {
      ++at;
      continue;
    }
    at += instruction.length;
    if (instruction.meta.category == ZYDIS_CATEGORY_CALL) calls.push_back(start + at);
  }
#else
  (void)code;
  (void)start;
#endif
  return calls;
}

} // namespace omptier
