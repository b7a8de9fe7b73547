// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long accesses take on a memory: the one answer for the runtime's decisions and the advisor's.
// The time charged to one access of one thread is
//
//   scattered load    max(read latency, 64 B · threads / read bandwidth)
//   streamed load     max(read latency / k_prefetch_lines, 64 B · threads / read bandwidth)
//   any store         max(write latency / k_store_lines,
//                         64 B · threads · (1 / read + 1 / write bandwidth))
//
// A core waits for a scattered load; it does not wait for prefetched lines and buffered stores
// until the outstanding lines are used up (Little's law: 64 B · lines / latency is the bandwidth of
// one core), nor beyond its share of the memory's bandwidth. A store also reads its line first,
// hence the time of both transfers. Figures that the firmware does not give are estimated
// (platform/usual_figures.hpp), and what rests on them is called so. Nothing here allocates.
#pragma once

#include "model/demand.hpp"
#include "platform/platform.hpp"

#include <span>

namespace omptier {

inline constexpr double k_line_bytes = 64;
// Lines that a core keeps in flight for a prefetched stream and for buffered stores: what cores of
// the last decade have as line-fill and super-queue entries (10 to 48), rounded.
inline constexpr double k_prefetch_lines = 16;
inline constexpr double k_store_lines = 16;

// Nanoseconds of one access on that memory while `threads` threads access it.
double access_time(Manner manner, const Figures& figures, unsigned threads);

// Nanoseconds of thread time for the whole demand.
double demand_time(const Demand& demand, const Figures& figures, Threads threads);

// As many threads as make every stream on a memory of those figures wait for its bandwidth: what is
// assumed of a program that says no more than that it streams.
unsigned threads_that_saturate(const Figures& figures);

// The memory that programs live in which nobody has placed, and over which times are counted: index
// of the first DRAM, else 0.
template <typename Tiers> std::size_t reference_tier(const Tiers& tiers) {
  std::size_t at = 0;
  while (at < tiers.size() && tiers[at].kind != MemoryKind::dram)
    ++at;
  return at < tiers.size() ? at : 0;
}
// Its figures, estimated where they are unknown; all 0 without tiers.
Figures reference_figures(std::span<const Tier> tiers);

// Nanoseconds to move so many bytes between two kinds by one thread while the program waits. A line
// of a huge page costs
//
//   1.6 · (streamed load from the old kind + 2 · streamed store to the new one)
//
// because the kernel clears a huge page before it copies into it; 1.6 is what moving took over that
// sum on the virtual machine (DRAM to NVM 1.6, NVM to DRAM 1.7). Objects of less than a huge page
// move in 4 KiB pages, of which copying is a quarter (docs/design.md, "The virtual machine"):
//
//   4 · (streamed load + streamed store)
double move_time(std::uint64_t bytes, const Figures& from, const Figures& to);

} // namespace omptier
