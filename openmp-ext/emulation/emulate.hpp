// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small emulator of the integer instructions that compute addresses (execution.hpp). It starts
// from a sample's registers and knows for each register and flag whether its value is known; what
// it cannot compute becomes unknown, never a guess. Its stores (spilled registers, registers saved
// by called functions) are visible to the emulation only. The top of the stack is as of the sample,
// as far as the sample has it. All other memory is as it is now, which is fine for pointers and
// index arrays: they seldom change within a loop. A store to an unknown address is assumed to
// change nothing that is read again.
#pragma once

#include "emulation/decode.hpp"
#include "emulation/process_memory.hpp"
#include "emulation/registers.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace omptier {

// Bits of the flags register that branches test.
inline constexpr std::uint64_t k_carry = 1, k_zero = 1 << 6, k_sign = 1 << 7, k_overflow = 1 << 11;
inline constexpr std::uint64_t k_all_flags = k_carry | k_zero | k_sign | k_overflow;

struct MachineState {
  std::uint64_t general[k_general_registers] = {};
  std::uint64_t flags = 0;
  std::uint64_t flags_known = 0;   // bits of flags
  std::uint16_t known = 0;         // bit per general register
  std::uint32_t vectors_known = 0; // bit per vector register
  std::array<std::array<std::uint8_t, 64>, 32> vectors;
  std::array<std::uint64_t, 8> masks = {}; // k0 … k7
  std::uint8_t masks_known = 0;            // bit per mask register

  static MachineState of(const RegisterSample& sample); // sample must outlive the state
  static MachineState of(RegisterSample&&) = delete;
  bool knows(std::int8_t general_register) const { return known >> general_register & 1; }
  void forget(std::uint32_t general_mask, std::uint32_t vector_mask);
  void set(unsigned general_register, std::optional<std::uint64_t> value);
  bool knows_mask(unsigned number) const { return masks_known >> number & 1; }
  void set_mask(unsigned number, std::optional<std::uint64_t> value);

  // read: all bytes or nothing. write: from null = unknown bytes. In the hidden range only bytes
  // written here are readable.
  bool read(std::uint64_t address, void* to, std::size_t bytes) const;
  void write(std::uint64_t address, const void* from, std::size_t bytes);
  // Only what was written here, all bytes of it known. Never counts as a read.
  bool read_written(std::uint64_t address, void* to, std::size_t bytes) const;
  std::uint64_t hidden_begin = 0, hidden_end = 0;
  std::uint64_t stack_begin = 0;       // address of `stack`
  std::span<const std::uint8_t> stack; // as of the sample; empty = unknown
  // While skips_reads is set, reads return "unknown". skipped: there was such a read. missed: a
  // read that was carried out found bytes that the emulation had written without knowing them.
  bool skips_reads = false;
  mutable bool skipped = false, missed = false;

private:
  struct Word { // 8 bytes, written at least in part
    std::uint64_t place = 0;
    std::uint8_t bytes[8] = {}, written = 0, known = 0; // masks: bit per byte
  };
  // Null: nothing was written there.
  template <class Words> static auto* word_at(Words& written, std::uint64_t place) {
    const auto word = std::ranges::find(written.rbegin(), written.rend(), place, &Word::place);
    return word != written.rend() ? &*word : nullptr;
  }
  bool read_unwritten(std::uint64_t address, void* to, std::size_t bytes) const;
  std::vector<Word> written_; // newest last
  mutable MemoryLines lines_;
};

// lane: of a gather or scatter. Nothing if a register is unknown, or the operand is thread-local.
std::optional<std::uint64_t> address_in(const Instruction& instruction, const MachineState& state,
                                        unsigned lane = 0);

// Lanes of a vector, gather or scatter that the memory operand accesses, one bit each. All without
// a mask; nothing if the mask is unknown.
std::optional<std::uint64_t> active_lanes(const Instruction& instruction,
                                          const MachineState& state);

// The caller handles branches (branch_taken) and calls: a call is stepped over, and what the called
// function may change becomes unknown.
void step(const Function& function, const Instruction& instruction, MachineState& state);

// To the state before the instruction: sums of a register and a constant are undone, other
// registers that it writes become unknown.
void rewind(const Function& function, const Instruction& instruction, MachineState& state);

// Like rewind, but only for general registers and with more arithmetic: also undoes sums with other
// registers, and derives a copied register from its copy. Memory is not reverted: values with which
// a loop was entered may have left the stack.
void undo(const Function& function, const Instruction& instruction, MachineState& state);

// Nothing if the flags are unknown.
std::optional<bool> branch_taken(const Function& function, const Instruction& instruction,
                                 const MachineState& state);

} // namespace omptier
