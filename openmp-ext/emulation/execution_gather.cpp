// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gathers into vectors, whose values may be indices or be compared into masks. Which addresses a
// gather or scatter accesses is address_in's and active_lanes' (emulate.cpp).

#include "emulation/execution.hpp"

#include <algorithm>
#include <cstring>

namespace omptier {

// Loads the active lanes; afterwards the mask is all off.
bool Execution::run_gathers() {
  if (!compact_.has_memory || !compact_.memory.is_vector_indexed()) return false;
  if (!compact_.memory.reads) return false; // a scatter
  const MemoryOperand& memory = compact_.memory;
  const std::int8_t number = vector_number(operand(0).reg.value);
  const auto lanes = active_lanes(compact_, state_);
  std::uint8_t value[64] = {};
  bool known = lanes && number >= 0;
  const std::uint64_t all = (std::uint64_t{1} << memory.lanes) - 1; // at most 16 lanes
  if (known && *lanes != all) {
    known = (state_.vectors_known >> number & 1) != 0;
    if (known) std::memcpy(value, state_.vectors[static_cast<std::uint8_t>(number)].data(), 64);
  }
  for (unsigned lane = 0; known && lane < memory.lanes; ++lane) {
    if (!(*lanes >> lane & 1)) continue;
    const auto address = address_in(compact_, state_, lane);
    known =
        address && state_.read(*address, value + std::size_t{lane} * memory.bytes, memory.bytes);
  }
  forget_written(); // target and mask
  if (memory.mask != k_no_register && memory.mask < k_vector_masks)
    state_.set_mask(static_cast<unsigned>(memory.mask), 0);
  if (!known) return true;
  state_.vectors[static_cast<std::uint8_t>(number)].fill(0);
  std::memcpy(state_.vectors[static_cast<std::uint8_t>(number)].data(), value,
              std::min<std::size_t>(sizeof value, std::size_t{memory.lanes} * memory.bytes));
  state_.vectors_known |= 1u << number;
  return true;
}

} // namespace omptier
