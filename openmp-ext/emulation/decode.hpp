// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function of the running program as the sampler sees it: its instructions in order, which of
// them touch memory and through which registers, where it branches, where its loops are. Decoded
// once by Zydis and kept; used by the helper thread only. x86-64; elsewhere nothing decodes.
#pragma once

#include "emulation/code_map.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace omptier {

inline constexpr std::int8_t k_no_register = -1;
inline constexpr std::int8_t k_instruction_pointer = 16; // base of a RIP-relative operand
inline constexpr std::int8_t k_vector_masks = 16;        // vector registers that serve as masks

// One memory operand: base + index × scale + displacement.
struct MemoryOperand {
  std::int64_t displacement = 0;
  std::int8_t base = k_no_register;  // general register, or k_instruction_pointer
  std::int8_t index = k_no_register; // general register; of a gather or scatter: vector register
  std::uint8_t scale = 1;
  std::uint8_t index_bytes = 0;     // of a gather or scatter: 4 or 8 bytes of index a lane; else 0
  std::uint8_t lanes = 1;           // accesses of a gather or scatter, elements under a mask
  std::uint8_t lane_bytes = 0;      // size of an element under a mask
  std::int8_t mask = k_no_register; // mask register 1 … 7, or a vector as k_vector_masks + number
  std::uint16_t bytes = 0;          // size of the access (one lane of a gather)
  bool thread_local_base = false;   // through FS or GS: the address cannot be known from registers
  bool reads = false, writes = false;

  bool is_vector_indexed() const { return index_bytes != 0; }
};

enum class Flow : std::uint8_t {
  next,        // falls through
  conditional, // to target, or falls through
  jump,        // to target; target 0 = unknown (jump table)
  call,        // comes back, with the caller-saved registers changed
  end,         // return, trap
  kernel       // system call
};

struct Instruction {
  std::uint64_t address = 0;
  std::uint64_t target = 0; // of a branch; 0 = unknown
  MemoryOperand memory;
  std::uint32_t vectors_written = 0; // bit per vector register
  std::uint8_t masks_written = 0;    // bit per mask register
  std::uint16_t general_written = 0; // bit per general register, also if written in part
  std::uint8_t length = 0;
  Flow flow = Flow::next;
  bool fills = false;         // a nop
  bool joined = false;        // branches of its function lead here
  bool has_memory = false;    // memory holds its explicit operand (not the stack of push and call)
  bool string_source = false; // reads [rsi]: movs, lods, cmps
  bool string_target = false; // accesses [rdi]: movs, stos, scas, cmps
  bool repeated = false;      // with a rep prefix: can be interrupted midway, PC stays on it

  std::uint64_t end() const { return address + length; }
};

struct Loop {
  std::uint32_t first = 0, last = 0; // instruction numbers; last branches back to first
};

class Function {
public:
  // Decodes bytes that lie (or lay) at `begin`; stops at the first byte that is no instruction.
  static std::unique_ptr<Function> decode(std::uint64_t begin, std::span<const std::uint8_t> bytes);

  CodeRange range;
  std::vector<Instruction> instructions;
  std::vector<Loop> loops;
  std::vector<std::uint8_t> code;
  bool gathers = false; // some instruction is indexed by a vector

  // Number of the instruction that begins at the address; -1 = none does.
  int at(std::uint64_t address) const;
  // Number of the instruction that probably ran before number i: the one that usually did, else
  // around the innermost loop that begins there, else the one above, else a jump that leads there.
  // -1 = not known (start, call).
  int before(int i) const;
  // Number `from` was seen to run before number i, which branches lead to.
  void came(int i, int from) const;
  // All that may have run before number i: the one above, and jumps that lead there.
  std::vector<int> all_before(int i) const;
  std::span<const std::uint8_t> bytes_of(const Instruction& instruction) const;
  // Ascending, no overlap, loops inside: what the rest relies on.
  bool is_consistent() const;

private:
  struct Way {
    int from = -1;
    std::uint32_t times = 0; // more than others, at most k_most_times
  };
  static constexpr std::uint32_t k_most_times = 64;
  mutable std::unordered_map<int, Way> ways_; // by number of an instruction that is joined
};

// Functions decoded so far, up to a fixed number of instructions (then all are dropped and decoded
// again when asked for: a bound on memory, not a policy).
class FunctionCache {
public:
  // Null where there is no unwind entry, or the function is larger than we are willing to decode.
  const Function* around(std::uint64_t pc);
  // Notices loading and unloading of code. Once per drain.
  void refresh();
  const CodeMap& map() const { return map_; }
  // Another one after code was loaded or unloaded: what is known of addresses may be outdated.
  std::uint64_t generation() const { return generation_; }

private:
  CodeMap map_;
  std::map<std::uint64_t, std::unique_ptr<Function>> functions_; // by first address
  std::size_t instructions_ = 0;
  std::uint64_t generation_ = 0;
};

} // namespace omptier
