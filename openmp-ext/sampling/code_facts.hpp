// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the code around a counted access tells of it, the same for every processor that samples
// misses: which loop repeats it, whether others wait for it, whether its line is stored to. Each
// instruction is looked at once. Helper thread only.
#pragma once

#include "emulation/decode.hpp"
#include "objects/access.hpp"

#include <array>
#include <cstdint>
#include <unordered_map>

namespace omptier {

class CodeFacts {
public:
  CodeFacts();

  // To be called once per drain.
  void refresh();
  // Whether it is code that this process has loaded, other than this library's and its decoder's,
  // which the helper thread alone is expected to use.
  bool is_programs(std::uint64_t pc) const;
  // Sets loop, nest, stored_back and gathered, by pc and kind.
  void add_to(AccessSample& sample);

private:
  struct Facts {
    std::uint64_t loop = 0, nest = 0;
    bool stored_back = false, gathered = false; // of a load
  };
  Facts facts_of(std::uint64_t pc);

  FunctionCache code_;
  std::unordered_map<std::uint64_t, Facts> facts_; // by pc
  std::uint64_t generation_ = 0;                   // of the code
  const std::array<CodeRange, 2> own_;
};

} // namespace omptier
