// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks up an address in a module's .eh_frame through its sorted table .eh_frame_hdr, which the
// loader maps with every program and library, stripped or not: the function around the address, and
// the unwind rule there, that is where the caller's frame is (CFA) and where the frame pointer
// register was saved. Only the rules that compilers emit for ordinary x86-64 functions are
// interpreted; anything else is reported as complex and left to the C++ runtime's unwinder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

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

struct CodeRange {
  std::uint64_t begin = 0, end = 0; // [begin, end)
};

// A loaded module's segments. `copy`, if set, reads memory that may be unmapped meanwhile.
struct ByteSpan {
  std::uintptr_t begin = 0, end = 0;
  bool (*copy)(void* reader, std::uintptr_t address, void* to, std::size_t bytes) = nullptr;
  void* reader = nullptr;

  bool holds(std::uintptr_t address, std::size_t bytes) const {
    return address >= begin && address <= end && bytes <= end - address;
  }
  template <typename T> bool read(std::uintptr_t address, T& value) const {
    if (!holds(address, sizeof value)) return false;
    if (copy != nullptr) return copy(reader, address, &value, sizeof value);
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return true;
  }
};

// The rule at pc (the return address - 1, inside the call). header: the module's .eh_frame_hdr.
// Never reads outside the span; malformed tables give Kind::end or complex.
UnwindRule find_unwind_rule(std::uintptr_t header, const ByteSpan& module, std::uintptr_t pc);

// The function around pc; nothing if no entry covers it or the tables are malformed.
std::optional<CodeRange> find_function(std::uintptr_t header, const ByteSpan& module,
                                       std::uintptr_t pc);

} // namespace omptier
