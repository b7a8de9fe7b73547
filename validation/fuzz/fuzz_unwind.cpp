// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two readers of unwind tables: the rule of a return address (while a program runs), and the
// bounds of the function around a sampled address. The input is a module's memory: an address to
// look up (8 bytes, counted from the module's begin), then the bytes, .eh_frame_hdr first.

#include "emulation/code_map.hpp"
#include "objects/unwind_rule.hpp"

#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omptier;
  std::uint64_t wanted = 0;
  if (size < sizeof wanted) return 0;
  std::memcpy(&wanted, data, sizeof wanted);
  const std::vector<std::uint8_t> module(data + sizeof wanted, data + size);
  const auto begin = reinterpret_cast<std::uintptr_t>(module.data());
  const UnwindRule rule = find_unwind_rule(begin, {begin, begin + module.size()}, begin + wanted);
  if (rule.kind == UnwindRule::Kind::normal && rule.cfa_offset % 8 != 0) std::abort();
  const auto function = function_in_unwind_table(begin, begin + wanted);
  if (function && (begin + wanted < function->begin || begin + wanted >= function->end))
    std::abort();
  return 0;
}
