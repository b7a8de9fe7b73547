// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small emulator of the integer instructions that compute addresses. It starts from the registers
// of a sample and knows of each register whether its value is certain; what it cannot compute
// becomes unknown, never wrong by guess. Memory it reads is the memory of now, not of the sample's
// moment: fine for pointers and index arrays, which seldom change within a loop.
#pragma once

#include "sampling/decode.hpp"
#include "sampling/registers.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace omptier {

struct MachineState {
  std::uint64_t general[k_general_registers] = {};
  std::uint64_t flags = 0;
  std::uint16_t known = 0; // bit per general register
  bool flags_known = false;
  std::uint32_t vectors_known = 0; // bit per vector register
  std::array<std::array<std::uint8_t, 64>, 32> vectors;

  static MachineState of(const RegisterSample& sample);
  bool knows(std::int8_t general_register) const { return known >> general_register & 1; }
  void forget(std::uint32_t general_mask, std::uint32_t vector_mask);
};

// Address that the instruction's memory operand has when executed in this state (of a gather or
// scatter: of lane `lane`). Nothing if a register it needs is unknown, or it is thread-local.
std::optional<std::uint64_t> address_in(const Instruction& instruction, const MachineState& state,
                                        unsigned lane = 0);

// Takes the state over one instruction. Branches are the caller's business (branch_taken).
void step(const Function& function, const Instruction& instruction, MachineState& state);

// Takes the state back from after the instruction to before it: sums of a register and a constant
// are undone, any other register that was written becomes unknown.
void rewind(const Function& function, const Instruction& instruction, MachineState& state);

// Will this conditional branch be taken? Nothing when the flags are unknown.
std::optional<bool> branch_taken(const Function& function, const Instruction& instruction,
                                 const MachineState& state);

} // namespace omptier
