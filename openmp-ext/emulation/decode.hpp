// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function of the running program for the sampler: its instructions in order, which of them
// access memory and through which registers, its branches and its loops. Zydis decodes it once; the
// helper thread alone uses it. x86-64 only; on other architectures nothing is decoded.
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
inline constexpr std::int8_t k_vector_masks = 16;        // first number of vectors used as masks

struct MemoryOperand {
  std::int64_t displacement = 0;
  std::int8_t base = k_no_register;  // general register or k_instruction_pointer
  std::int8_t index = k_no_register; // general register; vector register of a gather or scatter
  std::uint8_t scale = 1;
  std::uint8_t index_bytes = 0;     // of a gather or scatter: 4 or 8 bytes an index; else 0
  std::uint8_t lanes = 1;           // of a gather or scatter; elements under a mask
  std::uint8_t lane_bytes = 0;      // size of an element under a mask
  std::int8_t mask = k_no_register; // mask register 1 … 7, or k_vector_masks + vector
  std::uint16_t bytes = 0;          // of the access (one lane of a gather)
  bool thread_local_base = false;   // FS or GS: registers do not determine the address
  bool reads = false, writes = false;

  bool is_vector_indexed() const { return index_bytes != 0; }
};

enum class Flow : std::uint8_t {
  next,        // the instruction below
  conditional, // target, or the instruction below
  jump,        // target; 0 = unknown (jump table)
  call,        // returns with caller-saved registers changed
  end,         // return, trap
  kernel       // system call
};

struct Instruction {
  std::uint64_t address = 0;
  std::uint64_t target = 0; // of a branch; 0 = unknown
  MemoryOperand memory;
  std::uint32_t vectors_written = 0; // bit per vector register
  std::uint8_t masks_written = 0;    // bit per mask register
  std::uint16_t general_written = 0; // bit per general register, even if written in part
  std::uint8_t length = 0;
  Flow flow = Flow::next;
  bool fills = false;         // a nop
  bool joined = false;        // target of a branch of its function
  bool has_memory = false;    // has an explicit memory operand (unlike push and call)
  bool string_source = false; // reads [rsi]: movs, lods, cmps
  bool string_target = false; // accesses [rdi]: movs, stos, scas, cmps
  bool repeated = false;      // rep prefix: can be interrupted midway, with PC on it

  std::uint64_t end() const { return address + length; }
};

struct Loop {
  std::uint32_t first = 0, last = 0; // instruction numbers; `last` branches back to `first`
};

class Function {
public:
  // The bytes lie (or lay) at `begin`; stops at the first invalid instruction.
  static std::unique_ptr<Function> decode(std::uint64_t begin, std::span<const std::uint8_t> bytes);

  CodeRange range;
  std::vector<Instruction> instructions;
  std::vector<Loop> loops;
  std::vector<std::uint8_t> code;
  bool gathers = false; // some instruction is indexed by a vector
  // By instruction number: which ones lead to it, and can follow it, as far as asked (loops.hpp).
  mutable std::unordered_map<std::uint32_t, std::vector<bool>> leading, following;

  // -1 = no instruction begins at the address.
  int at(std::uint64_t address) const;
  // Number of the instruction that probably ran before number i: the one most often seen, else
  // around the innermost loop that begins at i, else the one above, else a jump to i. -1 = unknown
  // (start, call).
  int before(int i) const;
  void came(int i, int from) const;
  std::vector<int> all_before(int i) const;
  std::span<const std::uint8_t> bytes_of(const Instruction& instruction) const;
  // Instructions ascend without overlap and contain the loops.
  bool is_consistent() const;

private:
  struct Way {
    int from = -1;
    std::uint32_t times = 0; // more often than others, at most k_most_times
  };
  static constexpr std::uint32_t k_most_times = 64;
  mutable std::unordered_map<int, Way> ways_; // by number of a branch target
};

// Of code of the library that decodes; 0: there is none.
std::uint64_t decoder_address();

// Bounded: after a fixed number of instructions all are dropped, and decoded again on demand.
class FunctionCache {
public:
  // Null if there is no unwind entry or the function exceeds k_largest_function.
  const Function* around(std::uint64_t pc);
  // To be called once per drain: notices loaded and unloaded code.
  void refresh();
  const CodeMap& map() const { return map_; }
  // Changes when code was loaded or unloaded: facts about addresses may be outdated.
  std::uint64_t generation() const { return generation_; }

private:
  CodeMap map_;
  std::map<std::uint64_t, std::unique_ptr<Function>> functions_; // by first address
  std::size_t instructions_ = 0;
  std::uint64_t generation_ = 0;
};

} // namespace omptier
