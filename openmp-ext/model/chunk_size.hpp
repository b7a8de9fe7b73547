// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The size of the chunks in which an array passes through a faster memory. With t for the time of
// copying one byte (in, and back if it is written) and h for handing a chunk over, a pass over n
// bytes in chunks of c loses
//
//   c · t          while the first chunk comes and nothing can be computed, and
//   h · n / c      for the handing over,
//
// least at c = √(n · h / t). A chunk is at least so large that h is 1 % of its copying, and 10 %
// where there is no more room. Nothing here allocates.
#pragma once

#include "platform/platform.hpp"

#include <cstdint>

namespace omptier {

// Nanoseconds from a chunk's end to the first access of the next. Assumed: the calls alone take 1.3 us
// (EPYC Zen 4 guest), the wake-ups of a team and the caches' first misses the rest.
inline constexpr double k_chunk_hand_over = 20'000;

struct ChunkTraffic {
  Figures slow, fast; // all known
  unsigned copiers = 1;
  bool in = true, back = false;
};

// Nanoseconds a byte.
double chunk_copy_time(const ChunkTraffic& traffic);

// Bytes of a chunk of an array of so many.
double chunk_bytes(double array, const ChunkTraffic& traffic);
// The fewest that are worth it.
double least_chunk_bytes(const ChunkTraffic& traffic);

// Threads that copy: as many as get the slow memory's bandwidth, but at most one in eight
// processors, because the others compute.
unsigned chunk_copiers(const Figures& slow, unsigned processors);

} // namespace omptier
