// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves a live block to another kind of memory as a whole; placer_parts.cpp moves parts of fresh
// ones. Pages may stay behind (busy, shared, or a full node). If most arrive, the block is of the
// new kind; else the others are moved back. Pages that stay are counted where they lie.
#include "placement/placer.hpp"

#include "base/notices.hpp"

namespace omptier {

MoveResult Placer::move_block(const void* block, MemoryKind kind, std::uint64_t& moved) {
  moved = 0;
  std::size_t tier = 0;
  while (tier < tier_count_ && kind_of_tier(tier) != kind)
    ++tier;
  if (tier == tier_count_) return MoveResult::no_room;
  job_.enter();
  // The block may have been freed meanwhile, and its memory reused.
  ExtentSpace* space = ranges_.space_of(block);
  Extent* extent = space != nullptr ? space->begin_move(block) : nullptr;
  if (extent == nullptr) return MoveResult::held;
  MoveResult result = MoveResult::moved;
  // Each part of a split block is already where it belongs.
  if (extent->required || (extent->charged != kind && extent->parts != nullptr))
    result = MoveResult::held;
  else if (extent->charged != kind)
    result = move_extent(*extent, tier, moved);
  space->end_move(*extent);
  return result;
}

// Counts the extent under the tier's kind in addition, if ledger and nodes have room for all of it.
bool Placer::reserve_move(Extent& extent, std::size_t tier) {
  const MemoryKind kind = kind_of_tier(tier);
  if (!extent.space->count_besides(extent, kind, extent.committed)) {
    drop_caches(kind, extent.committed);
    if (!extent.space->count_besides(extent, kind, extent.committed)) return false;
  }
  if (has_room(places_[tier], extent.committed)) return true;
  drop_caches(kind, extent.committed);
  if (has_room(places_[tier], extent.committed)) return true;
  extent.space->uncount_besides(extent, kind, extent.committed);
  return false;
}

ExtentPages Placer::by_kind(const Extent& extent, const PageCensus& census) const {
  ExtentPages pages;
  for (unsigned node = 0; node < k_max_nodes; ++node)
    pages.on[static_cast<std::size_t>(node_kinds_[node])] += census.node[node];
  pages.coming = census.untouched;
  pages.unknown = census.unqueried;
  pages.home = census.unqueried == 0 && census.on(extent.space->nodes()) == census.present();
  return pages;
}

NodeSet Placer::nodes_under(const Extent& extent, MemoryKind kind) const {
  if (kind == extent.space->kind()) return extent.space->nodes();
  NodeSet nodes;
  for (std::size_t tier = 0; tier < tier_count_; ++tier)
    if (kind_of_tier(tier) == kind) nodes.bits |= places_[tier].nodes.bits;
  return nodes;
}

MoveTarget Placer::way_back(const Extent& extent, MemoryKind kind) const {
  return {nodes_under(extent, kind), &node_orders_, extent.space->binding().home};
}

MoveResult Placer::move_extent(Extent& extent, std::size_t tier, std::uint64_t& moved) {
  const NodeSet nodes = places_[tier].nodes;
  if (nodes.empty()) return MoveResult::no_room; // pages cannot move into a file
  const MemoryKind from = extent.charged;
  if (!reserve_move(extent, tier)) return MoveResult::no_room;
  extent.space->keep_apart(extent);
  MoveOutcome outcome = move_to_nodes(extent.begin, extent.committed, {nodes, &node_orders_});
  if (outcome.refused)
    warn_once(
        Notice::moves_refused,
        "The kernel refuses to move pages (move_pages; a container or sandbox may forbid it): "
        "memory stays where it is.");
  const bool refused = outcome.refused;
  const bool arrived = !refused && outcome.missing <= outcome.after.present() / 2;
  if (arrived)
    moved = outcome.moved;
  else if (outcome.moved != 0)
    outcome = move_to_nodes(extent.begin, extent.committed, way_back(extent, from));
  extent.space->charge_to(extent, arrived ? kind_of_tier(tier) : from,
                          by_kind(extent, outcome.after));
  return arrived ? MoveResult::moved : refused ? MoveResult::refused : MoveResult::stays;
}

} // namespace omptier
