// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See elf_calls.hpp. Decodes straight on; a byte that is no instruction is stepped over.
#include "symbols/elf_calls.hpp"

#if defined(__x86_64__)
#include <Zydis/Zydis.h>
#endif

namespace omptier {

#if defined(__x86_64__)
namespace {

struct Decoder {
  ZydisDecoder decoder;
  ZydisDecoderContext context;
  ZydisDecodedInstruction instruction;

  Decoder() { ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64); }
  bool decode(std::span<const std::uint8_t> code) {
    return ZYAN_SUCCESS(
        ZydisDecoderDecodeInstruction(&decoder, &context, code.data(), code.size(), &instruction));
  }
  // Of the call or jump just decoded, which lies at the address.
  void target(std::uint64_t address, Call& call) {
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (instruction.operand_count == 0 ||
        !ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &instruction, operands,
                                                 instruction.operand_count)))
      return;
    const ZydisDecodedOperand& to = operands[0];
    const bool slot = to.type == ZYDIS_OPERAND_TYPE_MEMORY && to.mem.base == ZYDIS_REGISTER_RIP;
    if (!slot && to.type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return;
    ZyanU64 absolute = 0;
    if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction, &to, address, &absolute))) return;
    call.goes = slot ? Call::Goes::through_slot : Call::Goes::to_address;
    call.target = absolute;
  }
};

} // namespace
#endif

std::vector<Call> calls_in(std::span<const std::uint8_t> code, std::uint64_t start) {
  std::vector<Call> calls;
#if defined(__x86_64__)
  Decoder decoder;
  for (std::size_t at = 0; at < code.size();) {
    if (!decoder.decode(code.subspan(at))) {
      ++at;
      continue;
    }
    if (decoder.instruction.meta.category == ZYDIS_CATEGORY_CALL) {
      Call call;
      call.behind = start + at + decoder.instruction.length;
      decoder.target(start + at, call);
      calls.push_back(call);
    }
    at += decoder.instruction.length;
  }
#else
  (void)code;
  (void)start;
#endif
  return calls;
}

std::optional<std::uint64_t> slot_of_stub(std::span<const std::uint8_t> code, std::uint64_t start) {
#if defined(__x86_64__)
  Decoder decoder;
  std::size_t at = 0;
  if (decoder.decode(code) && decoder.instruction.mnemonic == ZYDIS_MNEMONIC_ENDBR64)
    at = decoder.instruction.length;
  if (!decoder.decode(code.subspan(at)) || decoder.instruction.mnemonic != ZYDIS_MNEMONIC_JMP)
    return std::nullopt;
  Call jump;
  decoder.target(start + at, jump);
  if (jump.goes == Call::Goes::through_slot) return jump.target;
#else
  (void)code;
  (void)start;
#endif
  return std::nullopt;
}

} // namespace omptier
