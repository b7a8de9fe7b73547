// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an instruction's results depend on, for analyses that follow values through code without
// running it (x86-64 only). The stack counts as one register; other memory is not tracked.
#pragma once

#include "emulation/decode.hpp"

#include <cstdint>

namespace omptier {

// Bits of general registers, vectors, masks, the four flags that branches test, and the stack.
using Parts = std::uint64_t;
inline constexpr unsigned k_first_vector = 16, k_first_mask = 48, k_first_flag = 56;
inline constexpr Parts k_stack_part = Parts{1} << 60, k_all_parts = ~Parts{0};
constexpr Parts general_part(unsigned number) {
  return Parts{1} << number;
}
constexpr Parts vector_part(unsigned number) {
  return Parts{1} << (k_first_vector + number);
}

struct Effect {
  Parts reads = 0;    // inputs of its results
  Parts writes = 0;   // its results
  Parts replaces = 0; // results that keep nothing of the old value
  Parts loaded = 0;   // results that depend on what it reads from memory
  Parts asks = 0;     // needed even if its results are not: addresses, conditions
  Parts needed_before(Parts after) const {
    return (after & ~replaces) | asks | ((after & writes) != 0 ? reads : 0);
  }
};

// asks = k_all_parts where it cannot be told.
Effect effect_of(const Function& function, const Instruction& instruction);

} // namespace omptier
