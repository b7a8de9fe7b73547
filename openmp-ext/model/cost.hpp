// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long accesses take on a memory, for the runtime's decisions and the advisor's. The time
// charged to one access of one thread is
//
//   scattered load    max(read latency, block · threads / read bandwidth)
//   streamed load     max(read latency / k_prefetch_lines, 64 B · threads / read bandwidth),
//                     with block for 64 B where the line is alone in its block
//   streamed store    max(write latency / k_store_lines,
//                         64 B · threads · (1 / read + 1 / write bandwidth)),
//                     with 2 / mixed bandwidth for the sum where that is longer
//   scattered store   the same with block for 64 B
//
// Stores dealt out to many places in turn move, in part, a block for each line (demand.hpp). A load
// whose line is stored to in the cache moves it twice: what the write takes comes on top.
//
// A core waits for a scattered load, but for prefetched lines and buffered stores only once the
// lines it keeps in flight are used up (Little's law: 64 B · lines / latency is the bandwidth of
// one core) or its share of the memory's bandwidth is. A store also reads its line first, hence
// both transfers. The block is what the medium moves for a line alone. Nothing here allocates.
#pragma once

#include "model/demand.hpp"
#include "platform/platform.hpp"

#include <span>

namespace omptier {

// Lines that a core keeps in flight for a prefetched stream and for buffered stores: line-fill and
// super-queue entries of the last decade's cores (10 to 48), rounded.
inline constexpr double k_prefetch_lines = 16;
inline constexpr double k_store_lines = 16;

// The two times of which the larger counts: the core's wait, and the line's share of the bandwidth.
struct AccessPrice {
  double wait = 0, transfer = 0; // nanoseconds of thread time
};
AccessPrice access_price(Manner manner, const Figures& figures, unsigned threads);
// Of the demand's mean access in this manner.
AccessPrice price_of(const Demand& demand, Manner manner, const Figures& figures, Threads threads);
double access_time(Manner manner, const Figures& figures, unsigned threads);

// Nanoseconds of thread time.
double demand_time(const Demand& demand, const Figures& figures, Threads threads);

// The fewest for which every stream waits for bandwidth: assumed where only streaming is known.
unsigned threads_that_saturate(const Figures& figures);

// Index of the memory that unplaced programs use: the first DRAM, else 0. Times are relative to it.
template <typename Tiers> std::size_t reference_tier(const Tiers& tiers) {
  std::size_t at = 0;
  while (at < tiers.size() && tiers[at].kind != MemoryKind::dram)
    ++at;
  return at < tiers.size() ? at : 0;
}
// Its figures, estimated where unknown (platform/usual_figures.hpp); all 0 without tiers.
Figures reference_figures(std::span<const Tier> tiers);

// Nanoseconds in which one thread moves so many bytes between two kinds. A line costs
//
//   huge pages   1.6 · (streamed load from the old kind + 2 · streamed store to the new one)
//
//   4 KiB pages  4 · (streamed load + streamed store)
//
// The kernel clears a huge page before it copies; 1.6 was measured on the virtual machine (DRAM to
// NVM 1.6, NVM to DRAM 1.7). For a small page, copying is a quarter of the move (docs/design.md,
// "The virtual machine"). Objects below the size of a huge page move in small ones.
double move_time(std::uint64_t bytes, const Figures& from, const Figures& to);

} // namespace omptier
