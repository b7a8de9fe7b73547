// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small emulator of the integer instructions that compute addresses. It starts from the registers
// of a sample and knows of each register and flag whether its value is certain; what it cannot
// compute becomes unknown, never wrong by guess. What it writes to memory only the emulation sees
// (spilled registers, saved ones of called functions). The top of the stack is that of the sample's
// moment, as far as the sample has it; all other memory it reads is the memory of now: fine for
// pointers and index arrays, which seldom change within a loop. A store whose address is unknown is
// taken to change nothing that is read again.
//
// execution.hpp has the instructions.
#pragma once

#include "emulation/decode.hpp"
#include "emulation/process_memory.hpp"
#include "emulation/registers.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace omptier {

// Bits of the flags register that branches ask for.
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

  static MachineState of(const RegisterSample& sample); // which has to outlive the state
  static MachineState of(RegisterSample&&) = delete;
  bool knows(std::int8_t general_register) const { return known >> general_register & 1; }
  void forget(std::uint32_t general_mask, std::uint32_t vector_mask);
  void set(unsigned general_register, std::optional<std::uint64_t> value);
  bool knows_mask(unsigned number) const { return masks_known >> number & 1; }
  void set_mask(unsigned number, std::optional<std::uint64_t> value);

  // Memory as the emulation has left it. read: all bytes or nothing. write: null = bytes that are
  // not known. What lies in the hidden range and was not written here cannot be read.
  bool read(std::uint64_t address, void* to, std::size_t bytes) const;
  void write(std::uint64_t address, const void* from, std::size_t bytes);
  std::uint64_t hidden_begin = 0, hidden_end = 0;
  std::uint64_t stack_begin = 0;       // what lay there in the sample's moment
  std::span<const std::uint8_t> stack; // empty = not known
  // Reads say "not known" as long as `skips_reads`. skipped: one did. missed: one that was to be
  // carried out came upon bytes that the emulation has written without knowing them.
  bool skips_reads = false;
  mutable bool skipped = false, missed = false;

private:
  struct Word { // 8 bytes that were written, at least in part
    std::uint64_t place = 0;
    std::uint8_t bytes[8] = {}, written = 0, known = 0; // masks: bit per byte
  };
  bool read_unwritten(std::uint64_t address, void* to, std::size_t bytes) const;
  std::vector<Word> written_; // newest last
  mutable MemoryLines lines_;
};

// Address that the instruction's memory operand has when executed in this state (of a gather or
// scatter: of lane `lane`). Nothing if a register it needs is unknown, or it is thread-local.
std::optional<std::uint64_t> address_in(const Instruction& instruction, const MachineState& state,
                                        unsigned lane = 0);

// Which lanes of a vector, gather or scatter the instruction's memory operand concerns: bit per
// lane. All of them without a mask; nothing when the mask is not known.
std::optional<std::uint64_t> active_lanes(const Instruction& instruction,
                                          const MachineState& state);

// Takes the state over one instruction. Branches are the caller's business (branch_taken), and so
// is going into calls: a call is stepped over, with what a called function may change unknown.
void step(const Function& function, const Instruction& instruction, MachineState& state);

// Takes the state back from after the instruction to before it: sums of a register and a constant
// are undone, any other register that was written becomes unknown.
void rewind(const Function& function, const Instruction& instruction, MachineState& state);

// As rewind, for general registers only and as far as arithmetic goes: sums with other registers
// are taken back too, and a copied register is known by its copy. The last place where memory
// matters: what a loop was entered with need not be on the stack any more.
void undo(const Function& function, const Instruction& instruction, MachineState& state);

// Will this conditional branch be taken? Nothing when the flags are unknown.
std::optional<bool> branch_taken(const Function& function, const Instruction& instruction,
                                 const MachineState& state);

} // namespace omptier
