// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which reads of a loop an emulation must carry out: those on whose values an address or a branch
// of the loop depends. The terms of a sum need not be known, and each line read costs a system
// call, which for scattered reads is most of a sample's cost.
//
// This is a backward slice over the loop's instructions: live registers, where only addresses and
// conditions are uses. The stack counts as one register; other memory and code outside of the loop
// are not tracked. If the emulation leaves the loop, or reads a value that the loop stored unknown,
// it must start again with a larger loop.
#pragma once

#include "emulation/decode.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace omptier {

// One entry per instruction of the loop. An instruction that cannot be decoded needs everything.
std::vector<bool> needed_reads(const Function& function, const Loop& loop);

// For emulations that begin in a loop repeatedly: remembers which of the loops around it suffices.
class NeededReads {
public:
  // To be called before each emulation. generation: FunctionCache::generation().
  void begin(const Function& function, int instruction, std::uint64_t generation);
  // Whether the instruction is in the loop, and in the call that the emulation began in (depth 0).
  bool holds(const Instruction& instruction, int depth) const {
    return scope_ != nullptr && depth == 0 && instruction.address >= scope_->begin &&
           instruction.address < scope_->end;
  }
  // Only if holds() is true.
  bool needs(int instruction) const {
    return scope_->needed[static_cast<std::size_t>(instruction) - scope_->loop.first];
  }
  bool skips(const Instruction& instruction, int number) const {
    return holds(instruction, 0) && instruction.flow == Flow::next && !needs(number);
  }
  // Continues with the next larger loop, or with none: then all reads are needed.
  void widen(const Function& function);
  void read_all() { scope_ = nullptr; }
  // An entry per instruction. Valid until the next begin().
  const std::vector<bool>& of(const Function& function, const Loop& loop) {
    return scope_of(function, loop)->needed;
  }

private:
  static constexpr std::size_t k_scopes_kept = 1024;
  static constexpr unsigned k_enough = 8; // emulations that decide whether a loop suffices
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
