// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits blocks over several kinds of memory: moves a run of pages to another tier and counts it
// there. The program has not seen the block yet, so pages may be dropped and taken again: a huge
// page across a border is first replaced by small ones. Other threads' listings can see it, so it
// is held as for a move.
#include "base/rounding.hpp"
#include "placement/placer.hpp"

#include "base/os.hpp"

#include <algorithm>
#include <sys/mman.h>

namespace omptier {

namespace {

class Held {
public:
  Held(const ReservedRanges& ranges, const void* block) : space_(ranges.space_of(block)) {
    if (space_ != nullptr) extent_ = space_->begin_move(block);
  }
  ~Held() {
    if (extent_ != nullptr) space_->end_move(*extent_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  Extent* extent() const { return extent_; }

private:
  ExtentSpace* space_;
  Extent* extent_ = nullptr;
};

} // namespace

std::size_t Placer::fill_front(void* block, std::size_t tier) {
  const Held held(ranges_, block);
  Extent* extent = held.extent();
  if (extent == nullptr || extent->parts != nullptr) return 0;
  return fill_part(*extent, 0, extent->committed, tier, k_large_block);
}

std::size_t Placer::place_part(void* block, std::size_t begin, std::size_t end, std::size_t tier) {
  const Held held(ranges_, block);
  Extent* extent = held.extent();
  if (extent == nullptr || extent->charged == kind_of_tier(tier)) return 0;
  begin = round_down(std::min(begin, extent->committed) + page_size() / 2, page_size());
  // The last page of the object is included as a whole.
  end = end < extent->block_bytes ? round_down(end + page_size() / 2, page_size())
                                  : extent->committed;
  if (begin >= end) return 0;
  for (const ExtentPart* part = extent->parts; part != nullptr; part = part->next)
    if (part->begin < end && begin < part->end) return 0;
  return fill_part(*extent, begin, end, tier, page_size());
}

// A huge page across the border would go to one side as a whole, so its unit gets small pages; so
// does the unit of the block's own end if others share it. False when the border divides none.
bool Placer::part_border(Extent& extent, std::size_t at) {
  const std::uintptr_t border = extent.begin + at;
  if (huge_page_size() == 0 || border % ranges_.unit() == 0) return false;
  if (at >= extent.committed && !extent.shares()) return false;
  const std::uintptr_t unit = border / ranges_.unit() * ranges_.unit();
  const std::size_t begin = std::max(unit, extent.begin) - extent.begin;
  const std::size_t end =
      std::min(unit + ranges_.unit(), extent.begin + extent.committed) - extent.begin;
  {
    const std::lock_guard guard(*extent.space);
    extent.small_ends = true;
    os().advise(reinterpret_cast<void*>(unit), ranges_.unit(), MADV_NOHUGEPAGE);
  }
  for (const ExtentPart* part = extent.parts; part != nullptr; part = part->next)
    if (part->begin < end && begin < part->end) return true; // that part already did
  PageCensus census;
  if (count_pages(extent.begin + begin, end - begin, census) && census.present() != 0) {
    extent.space->backing().drop(extent.begin + begin, end - begin);
    const std::lock_guard guard(*extent.space);
    extent.verified = false;
  }
  return true;
}

// The block is held.
std::size_t Placer::fill_part(Extent& extent, std::size_t begin, std::size_t end, std::size_t tier,
                              std::size_t least) {
  const MemoryKind kind = kind_of_tier(tier);
  TierPlace& place = places_[tier];
  const std::uint64_t room = std::min(ledger_.room(kind), free_on(place.nodes, false));
  std::size_t bytes = end - begin;
  if (room < bytes) bytes = round_down(room, page_size());
  // If it must end early, then at a huge page's border, if it has one.
  if (const std::uintptr_t first = extent.begin + begin,
      border = (first + bytes) / ranges_.unit() * ranges_.unit();
      least < k_large_block && begin + bytes != end && border > first && huge_page_size() != 0)
    bytes = border - first;
  if (bytes < std::min(least, end - begin) || bytes == 0 || !has_room(place, bytes) ||
      !extent.space->count_besides(extent, kind, bytes))
    return 0;

  const bool divided_begin = part_border(extent, begin);
  const bool divided_end = part_border(extent, begin + bytes);
  std::size_t arrived = 0;
  if (populate(extent.begin + begin, bytes))
    arrived = move_part(extent, begin, bytes, place.nodes, std::min(least, end - begin));
  if (arrived != 0 && !extent.space->add_part(extent, begin, begin + arrived, kind)) {
    settle(extent.begin + begin, arrived, extent.space->nodes());
    arrived = 0;
  }
  uncount_rest(extent, begin + arrived, begin + bytes, kind);
  if (arrived == 0 && extent.parts == nullptr && (divided_begin || divided_end)) {
    const std::lock_guard guard(*extent.space);
    extent.space->allow_huge_pages(extent);
  }
  return arrived;
}

// Uncounts what was reserved for bytes [begin, end) and did not arrive, or was moved back.
void Placer::uncount_rest(Extent& extent, std::size_t begin, std::size_t end, MemoryKind kind) {
  if (begin == end) return;
  PageCensus census;
  count_pages(extent.begin + begin, end - begin, census);
  const ExtentPages pages = by_kind(extent, census);
  const std::uint64_t left = pages.on[static_cast<std::size_t>(kind)] + pages.unknown;
  extent.space->uncount_besides(extent, kind, end - begin - left);
}

// Moves bytes of the extent to the nodes. Returns the bytes that lie there in the end: all, or a
// run from the first if it has at least `least` bytes, or none.
std::size_t Placer::move_part(Extent& extent, std::size_t begin, std::size_t bytes, NodeSet nodes,
                              std::size_t least) {
  const std::uintptr_t first = extent.begin + begin;
  move_to_nodes(first, bytes, {nodes, &node_orders_});
  std::size_t arrived = leading_bytes_on(first, bytes, nodes);
  if (arrived == bytes) return bytes;
  if (arrived < least) arrived = 0;
  settle(first + arrived, bytes - arrived, extent.space->nodes());
  return arrived;
}

} // namespace omptier
