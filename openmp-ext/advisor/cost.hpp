// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long accesses take on a kind of memory. The time charged to one access of one thread is
//
//   scattered load    read latency
//   streamed load     max(read latency / k_prefetch_lines, 64 B · threads / read bandwidth)
//   scattered store   max(write latency / k_store_lines,   64 B · threads · 2 / (read ∥ write))
//   streamed store    the same as a scattered store
//
// A core waits for a scattered load; it does not wait for prefetched lines and buffered stores
// until the outstanding lines are used up (Little's law: 64 B · lines / latency is the bandwidth of
// one core), nor beyond its share of the memory's bandwidth. A store also reads its line first,
// hence the time of both transfers. Unknown figures are taken from the fastest known kind, and said
// so.
#pragma once

#include "advisor/workload.hpp"
#include "platform/platform.hpp"

#include <vector>

namespace omptier {

inline constexpr double k_line_bytes = 64;
// Lines that a core keeps in flight for a prefetched stream and for buffered stores: what cores of
// the last decade have as line-fill and super-queue entries (10 to 48), rounded.
inline constexpr double k_prefetch_lines = 16;
inline constexpr double k_store_lines = 16;

// A kind the advisor may use, with the bytes it may use of it.
struct TierChoice {
  MemoryKind kind = MemoryKind::unknown;
  std::uint64_t capacity = 0;
  Figures figures;
};

// Nanoseconds of one access on that memory while `threads` threads access it.
double access_time(Manner manner, const Figures& figures, unsigned threads);

// Nanoseconds of thread time for the whole demand.
double demand_time(const Demand& demand, const Figures& figures, unsigned threads);

// The kinds of the platform with the smaller of their capacity and the limit; kinds limited to 0
// are left out; fastest first as the platform orders them. Tiers of one kind are taken together.
std::vector<TierChoice> usable_tiers(const Platform& platform, const CapacityByKind& limits);

// Nanoseconds to move a byte between two kinds while the program waits: page migration moves 4 KiB
// pages at about a quarter of the copy speed (docs/design.md, "The virtual machine"), huge pages at
// half.
double move_time_per_byte(const Figures& from, const Figures& to);

} // namespace omptier
