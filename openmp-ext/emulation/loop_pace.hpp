// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fast a loop runs. Two samples of one thread in one run of the loop show how many iterations
// lie between them: the difference of any register that counts, divided by its step. Where runs of
// the innermost loop are too short for two samples, those of a loop around it do. A pair is used
// only if nothing contradicts that it is one run: registers that the loop does not write are equal,
// all that count agree, and the loop's end does not depend on memory. A loop that restarted in
// between with the same registers is detected by comparing pairs with gaps of all sizes
// (analysis/loop_rates.hpp).
#pragma once

#include "emulation/loops.hpp"
#include "emulation/registers.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace omptier {

struct LoopRegisters {
  std::uint64_t head = 0; // address of its first instruction; 0 = no loop
  std::uint16_t fixed = 0;
  std::uint16_t counting = 0; // advanced once an iteration, by one step
  std::array<std::int64_t, k_general_registers> step{};
  bool ends_by_memory = false; // its end may change unnoticed
};

// All but the steps; `counting` has the registers that only one instruction writes.
LoopRegisters registers_of(const Function& function, const Loop& loop);

// Of the loop, or of the smallest one around it with both samples in one run, as far as the
// registers tell that it does not write; of the loop itself if there is none.
LoopRegisters registers_of_run(const Function& function, const Loop& innermost,
                               const RegisterSample& sample, const RegisterSample* earlier);

// Iterations from one sample to a later one of the same loop, ± 1; −1 = not of one run; nothing if
// that cannot be decided. nanoseconds: between them.
std::optional<double> iterations_between(const LoopRegisters& loop, const RegisterSample& from,
                                         const RegisterSample& to, double nanoseconds);

// The last sample of each thread. Helper thread only.
class SamplesBefore {
public:
  // For a pair; null = none, or too close to measure the time between. Valid until the next call.
  const RegisterSample* before(const RegisterSample& sample) const;
  void keep(const RegisterSample& sample);

private:
  static constexpr std::size_t k_threads_kept = 256;
  std::unordered_map<std::uint32_t, RegisterSample> threads_;
};

} // namespace omptier
