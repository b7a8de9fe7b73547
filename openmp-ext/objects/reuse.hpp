// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How soon an instruction came back to a watched address (sampling/reuse.hpp): a measurement that
// the reader of a profile interprets (analysis/cache.hpp).
#pragma once

#include <cstdint>

namespace omptier {

struct AddressReuse {
  std::uint64_t time = 0; // CLOCK_MONOTONIC nanoseconds, when the watch ended
  std::uint64_t pc = 0;   // of the instruction
  std::uint64_t address = 0;
  std::uint64_t range = 0;   // bytes between the addresses at which it was sampled meanwhile
  std::uint32_t samples = 0; // of these
  std::uint32_t thread = 0;  // that was watched
  float watched = 0;         // nanoseconds
  float until_next_use = 0;  // nanoseconds from one use to the next, the median; 0 = none was seen
};

// Bytes, 0 = unknown. own: a thread's own part, also in a guest; all: the last level.
struct CacheSizes {
  std::uint64_t own = 0, all = 0;
};

} // namespace omptier
