// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The unwind rule of one return address, read from a module's .eh_frame by way of its sorted table
// .eh_frame_hdr: where the caller's frame is (CFA) and where the frame pointer register was saved.
// Only what compilers emit for ordinary x86-64 functions is understood; anything else is reported
// as complex and left to the C++ runtime's unwinder.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omptier {

struct UnwindRule {
  enum class Kind : std::uint8_t {
    normal,  // return address at CFA - 8
    end,     // outermost frame, or no information
    complex, // expressions, signal frames, other registers
  };
  Kind kind = Kind::end;
  bool from_frame_pointer = false; // CFA = rbp + cfa_offset, else rsp + cfa_offset
  std::uint32_t cfa_offset = 0;    // bytes, a multiple of 8
  std::uint32_t saved_at = 0;      // caller's rbp is at CFA - saved_at bytes; 0 = unchanged
};

// Memory that may be read: a loaded module's segments.
struct ByteSpan {
  std::uintptr_t begin = 0, end = 0;
  bool holds(std::uintptr_t address, std::size_t bytes) const {
    return address >= begin && address <= end && bytes <= end - address;
  }
};

// The rule at pc (the return address - 1, so that the call itself is looked up). header: the
// module's .eh_frame_hdr. Never reads outside the span; malformed tables give Kind::end or complex.
UnwindRule find_unwind_rule(std::uintptr_t header, ByteSpan module, std::uintptr_t pc);

} // namespace omptier
