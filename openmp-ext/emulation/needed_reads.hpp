// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which reads of a loop the emulation has to carry out: those whose values an address or a branch
// of the loop depends on. What a sum is made of need not be known, and each line that is read costs
// a call of the kernel, which for scattered reads is most of what a sample costs.
//
// It is a backward slice over the loop's instructions: live registers, where only addresses and
// conditions ask for something. The stack counts as one register. Other memory is not followed, and
// neither is anything outside of the loop: whoever emulates must notice when he leaves it, or reads
// again what the loop itself has stored without knowing it, and begin anew with a wider one.
#pragma once

#include "emulation/decode.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace omptier {

// One entry an instruction of the loop. What cannot be decoded needs everything.
std::vector<bool> needed_reads(const Function& function, const Loop& loop);

// The same for emulations that begin in a loop again and again: which of the loops around it will
// do is remembered.
class NeededReads {
public:
  // An emulation begins at this instruction. generation: FunctionCache::generation().
  void begin(const Function& function, int instruction, std::uint64_t generation);
  // Within the loop, in the call the emulation began in (depth 0)?
  bool holds(const Instruction& instruction, int depth) const {
    return scope_ != nullptr && depth == 0 && instruction.address >= scope_->begin &&
           instruction.address < scope_->end;
  }
  // Of what it holds.
  bool needs(int instruction) const {
    return scope_->needed[static_cast<std::size_t>(instruction) - scope_->loop.first];
  }
  // Of an instruction, whether or not this holds it.
  bool skips(const Instruction& instruction, int number) const {
    return holds(instruction, 0) && instruction.flow == Flow::next && !needs(number);
  }
  // The next larger loop, or nothing, in which case all reads are needed.
  void widen(const Function& function);
  void read_all() { scope_ = nullptr; }
  // What one loop needs, an entry an instruction of it. Valid until the next begin().
  const std::vector<bool>& of(const Function& function, const Loop& loop) {
    return scope_of(function, loop)->needed;
  }

private:
  static constexpr std::size_t k_scopes_kept = 1024;
  static constexpr unsigned k_enough = 8; // emulations that tell whether a loop will do
  struct Scope {
    Loop loop;
    std::uint64_t begin = 0, end = 0; // addresses
    std::vector<bool> needed;
    unsigned begun = 0, left = 0; // emulations that began here, and those that needed more
  };
  Scope* scope_of(const Function& function, const Loop& loop);

  std::unordered_map<std::uint64_t, Scope> scopes_; // by the loop's end
  std::uint64_t generation_ = 0;
  Scope* scope_ = nullptr;
};

} // namespace omptier
