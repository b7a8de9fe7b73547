// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For how many samples the loops around them were emulated (emulation/loop_accesses.hpp).
#pragma once

#include <cstdint>

namespace omptier {

struct LoopCounts { // samples, from the start on
  std::uint64_t emulated = 0;
  std::uint64_t alike = 0;    // at places seen often, where each emulated one stands for these, too
  std::uint64_t left_out = 0; // beyond emulation's budget: those drawn at random stand for them
  bool operator==(const LoopCounts&) const = default;

  LoopCounts& operator+=(const LoopCounts& other) {
    emulated += other.emulated;
    alike += other.alike;
    left_out += other.left_out;
    return *this;
  }
};

} // namespace omptier
