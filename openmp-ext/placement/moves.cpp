// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A live block moves to another kind of memory as a whole; parts.cpp moves parts of fresh ones.
#include "placement/placer.hpp"

#include "base/log.hpp"

namespace omptier {

bool Placer::move_block(const void* block, MemoryKind kind, std::uint64_t& moved) {
  moved = 0;
  std::size_t tier = 0;
  while (tier < tier_count_ && kind_of_tier(tier) != kind)
    ++tier;
  if (tier == tier_count_) return false;
  // The block may have been freed meanwhile, and its memory be another's.
  ExtentSpace* space = ranges_.space_of(block);
  Extent* extent = space != nullptr ? space->begin_move(block) : nullptr;
  if (extent == nullptr) return false;
  const bool arrived =
      !extent->required && (extent->charged == kind || move_extent(*extent, tier, moved));
  space->end_move(*extent);
  return arrived;
}

// Ledger and node first, then the pages, then the old kind's account.
bool Placer::move_extent(Extent& extent, std::size_t tier, std::uint64_t& moved) {
  if (extent.parts != nullptr) return false; // split over kinds: each part is where it belongs
  const MemoryKind kind = kind_of_tier(tier);
  const MemoryKind from = extent.charged;
  const NodeSet nodes = places_[tier].nodes;
  if (nodes.empty()) return false; // pages do not become a file's
  if (!ledger_.reserve(kind, extent.committed)) {
    drop_caches(kind, extent.committed);
    if (!ledger_.reserve(kind, extent.committed)) return false;
  }
  if (!has_room(places_[tier], extent.committed)) {
    drop_caches(kind, extent.committed);
    if (!has_room(places_[tier], extent.committed)) {
      ledger_.give_back(kind, extent.committed);
      return false;
    }
  }
  MoveOutcome last;
  for (unsigned node = 0; node < k_max_nodes; ++node) {
    if (!nodes.has(node)) continue;
    last = move_to_node(extent.begin, extent.committed, node);
    moved += last.moved;
    if (last.refused || last.missing == 0) break;
  }
  if (last.refused)
    warn_once(
        Notice::placement_refused,
        "The kernel refuses to move pages (move_pages; a container or sandbox may forbid it): "
        "memory stays where it is.");
  if (last.refused || last.missing > extent.committed / 2) { // most of it did not arrive
    ledger_.give_back(kind, extent.committed);
    return false;
  }
  const std::lock_guard guard(*extent.space);
  extent.charged = kind;
  extent.moved = true;
  ledger_.give_back(from, extent.committed);
  return true;
}

} // namespace omptier
