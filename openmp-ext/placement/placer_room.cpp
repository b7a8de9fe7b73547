// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks for room and makes room. Room is what the nodes have free, less what the kernel reserves,
// less what was handed out for first touch and is not touched yet. Caches are dropped when memory
// is short, and after they were unused for a while.
#include "placement/placer.hpp"

#include "base/kernel_files.hpp"
#include "base/os.hpp"

#include <algorithm>

namespace omptier {
std::uint64_t Placer::free_on(NodeSet nodes, bool with_file_cache) const {
  std::uint64_t sum = 0;
  for (unsigned node = 0; node < k_max_nodes; ++node) {
    NodeMemory memory;
    if (!nodes.has(node)) continue;
    if (!read_node_memory(node, memory)) return Ledger::k_no_limit; // unknown: try it
    const std::uint64_t free = memory.free + (with_file_cache ? memory.file_cache : 0);
    // What the kernel keeps before it spills, and a margin for other processes.
    const std::uint64_t margin = low_watermarks_[node] + reserve_of(memory.total, reserve_);
    sum += free > margin ? free - margin : 0;
  }
  return sum;
}

// Bytes handed out and not touched yet, and bytes that other threads are about to hand out (each
// counts its own). Blocks found wholly present are marked and not queried again.
std::uint64_t Placer::count_promised(TierPlace& place, const Extent* own) {
  std::uint64_t untouched = 0, in_hand = 0;
  if (place.promised == nullptr) return 0;
  place.for_each_spread([&](Spread& spread) {
    spread.extents.for_each([&](Extent& extent) {
      // Bytes outside of parts are still promised here; so are bytes untouched before a move.
      const bool elsewhere =
          extent.charged != spread.extents.kind() &&
          extent.besides[static_cast<std::size_t>(spread.extents.kind())] == 0;
      if (extent.use != ExtentUse::block) return;
      if (!extent.ready) { // its thread has not handed it out yet
        if (&extent != own) in_hand += extent.committed;
        return;
      }
      PageCensus census;
      if (extent.verified || elsewhere) {
        spread.extents.promise(extent, 0);
      } else if (count_pages(extent.begin, extent.committed, census)) {
        spread.extents.promise(extent, census.untouched);
        if (census.on(place.nodes) == extent.committed - extent.apart && census.untouched == 0)
          extent.verified = true;
      }
      untouched += extent.promised;
    });
  });
  return untouched + in_hand;
}

Refusal Placer::refusal_of_nodes(TierPlace& place, std::uint64_t bytes, const Extent* own) {
  if (place.backing == nullptr) return Refusal::not_allowed;
  if (place.promised == nullptr) return Refusal::none; // granted memory exists
  // The kernel can reclaim page cache for us; whether it does so shows when pages are verified.
  const std::uint64_t free = free_on(place.nodes, true);
  if (free < bytes) return Refusal::node_full;
  return free - bytes >= place.promised->bytes() || free - bytes >= count_promised(place, own)
             ? Refusal::none
             : Refusal::node_full;
}

std::uint64_t Placer::room_on(std::size_t tier) {
  TierPlace& place = places_[tier];
  if (place.backing == nullptr) return 0;
  if (place.promised == nullptr)
    return std::min(place.backing->free_bytes(), ledger_.room(kind_of_tier(tier)));
  std::uint64_t cached = 0;
  place.for_each_spread([&](const Spread& spread) { cached += spread.extents.cached_bytes(); });
  const auto and_cached = [&](std::uint64_t left) { return left + std::min(cached, ~left); };
  std::uint64_t room = and_cached(free_on(place.nodes, true));
  const std::uint64_t promised = count_promised(place);
  if (room != Ledger::k_no_limit) room -= std::min(room, promised);
  return std::min({room, and_cached(ledger_.room(kind_of_tier(tier))),
                   and_cached(group_.limits().room())});
}

// Drops unused memory when a kind is short: cached extents first, then what heaps and threads keep
// (other threads flush theirs in their next slow path). Returns the bytes that became free.
std::size_t Placer::drop_caches(MemoryKind kind, std::size_t bytes) {
  std::size_t dropped = 0;
  const auto each = [&](auto&& drop) {
    for_each_spread([&](Spread& spread) {
      if (spread.extents.kind() == kind) dropped += drop(spread);
    });
  };
  each([&](Spread& spread) { return spread.extents.drop_cache(bytes); });
  if (dropped >= bytes) return dropped;
  // At intervals only, else every thread would empty its magazines at every request.
  if (pressure_.is_due())
    thread_caches::flush_all_later();
  if (ThreadCache* mine = ThreadCache::make_mine()) mine->flush();
  each([](Spread& spread) { return spread.heap.drop_empty(~std::uint64_t{0}); });
  return dropped;
}

void Placer::make_group_room() {
  for (std::size_t tier = 0; tier < tier_count_; ++tier)
    count_promised(places_[tier]);
  for (const MemoryKind kind : k_all_memory_kinds)
    drop_caches(kind, ~std::size_t{0});
  job_.reclaim_slots();
  job_.ask_for_recount();
}

void Placer::recount() {
  if (!job_.recount_wanted()) return;
  for (std::size_t tier = 0; tier < tier_count_; ++tier)
    count_promised(places_[tier]);
  group_.leaves(0); // publishes
}

void Placer::give_back_unused() {
  thread_caches::flush_all_later();
  ThreadCache::mine().flush();
  for_each_spread([](Spread& spread) {
    spread.heap.drop_empty(~std::uint64_t{0});
    spread.extents.drop_cache(~std::size_t{0});
  });
}

void Placer::drop_unused() {
  const std::uint64_t now = monotonic_nanoseconds();
  const std::uint64_t since = now > decay_ ? now - decay_ : 0;
  for_each_spread([&](Spread& spread) {
    spread.extents.drop_older(since);
    spread.heap.drop_empty(since);
  });
}

std::uint64_t Placer::cached_bytes(MemoryKind kind) const {
  std::uint64_t sum = 0;
  for_each_spread([&](const Spread& spread) {
    if (spread.extents.kind() == kind) sum += spread.extents.cached_bytes();
  });
  return sum;
}

} // namespace omptier
