// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fast a loop runs. One sample tells where in its loop a thread is; two of the same thread,
// both inside one run of the same loop, tell how many iterations lie between them: the difference
// of any register that counts, by its step. A pair is only believed if nothing contradicts that it
// is one run: registers that the loop leaves alone are the same, all that count agree, and the
// loop's end does not depend on memory. A loop that began again in between, with the same
// registers, is found out by comparing pairs with gaps of all sizes (analysis/loop_rates.hpp).
#pragma once

#include "emulation/decode.hpp"
#include "emulation/registers.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace omptier {

// General registers of a loop, bit per register.
struct LoopRegisters {
  std::uint64_t head = 0; // address of its first instruction; 0 = no loop
  std::uint16_t fixed = 0;
  std::uint16_t counting = 0; // written once an iteration, by the same step
  std::array<std::int64_t, k_general_registers> step{};
  bool ends_by_memory = false; // how far it runs may change unseen
};

// The innermost loop around an instruction; null = none.
const Loop* innermost_loop(const Function& function, int instruction);

// Everything but the steps; in `counting` all that are written by one instruction only.
LoopRegisters registers_of(const Function& function, const Loop& loop);

// Iterations from one sample to a later one of the same loop, one more or less; −1 = they are not
// of one run; nothing where that cannot be told. nanoseconds: between them.
std::optional<double> iterations_between(const LoopRegisters& loop, const RegisterSample& from,
                                         const RegisterSample& to, double nanoseconds);

// The last sample of each thread. Helper thread only.
class SamplesBefore {
public:
  // The one that this sample makes a pair with; null = none, or too near for the time between them
  // to be measured. Good until the next call.
  const RegisterSample* before(const RegisterSample& sample) const;
  void keep(const RegisterSample& sample);

private:
  static constexpr std::size_t k_threads_kept = 256;
  std::unordered_map<std::uint32_t, RegisterSample> threads_;
};

} // namespace omptier
