// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One sampled memory access, the same for every source of samples.
#pragma once

#include <cstdint>

namespace omptier {

enum class AccessKind : std::uint8_t { unknown, load, store };
enum class AccessLevel : std::uint8_t { unknown, cache, memory };
// What one sample counts. Shares of time, of accesses and of misses differ and are never merged.
enum class Measure : std::uint8_t { time, accesses, misses };

struct AccessSample {
  std::uint64_t time = 0;    // CLOCK_MONOTONIC nanoseconds
  std::uint64_t pc = 0;      // instruction that is blamed; 0 = unknown
  std::uint64_t address = 0; // data address; 0 = unknown
  std::uint32_t thread = 0;  // kernel thread id
  AccessKind kind = AccessKind::unknown;
  AccessLevel level = AccessLevel::unknown;
  bool streamed = false;   // part of a sequential stream, where the source knows it
  bool stored_back = false; // of a load: its line is stored to right behind it
  bool gathered = false;    // of a load: none waits for what the one before it brings
  bool by_kernel = false;  // which cleared or copied the page; the pc touched it first
  std::uint64_t loop = 0;  // first instruction of the loop that repeats the pc; 0 = not known
  std::uint64_t nest = 0;  // of the largest loop around that one which calls nothing
  std::uint8_t node = 255; // NUMA node that served it, 255 = unknown
  float weight = 1;        // how many events (or nanoseconds, for Measure::time) it stands for
  float latency = 0;       // nanoseconds, 0 = unknown
};

} // namespace omptier
