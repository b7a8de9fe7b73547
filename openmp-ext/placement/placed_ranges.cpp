// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order: ledger, node, policy, then the pages. The policy is a preference, as everywhere: when a
// node is full, the kernel spills and does not kill.
#include "placement/placed_ranges.hpp"

#include "base/notices.hpp"
#include "base/os.hpp"
#include "base/rounding.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace omptier {

// Room for two more entries: a range placed in the middle of another one splits it.
bool PlacedRanges::make_room() {
  if (count_ + 2 <= capacity_) return true;
  const std::size_t wanted = capacity_ == 0 ? 128 : 2 * capacity_;
  auto* fresh = static_cast<PlacedRange*>(map_pages(wanted * sizeof(PlacedRange)));
  if (fresh == nullptr) return false;
  if (ranges_ != nullptr) {
    std::memcpy(fresh, ranges_, count_ * sizeof(PlacedRange));
    os().unmap(ranges_, capacity_ * sizeof(PlacedRange));
  }
  ranges_ = fresh;
  capacity_ = wanted;
  return true;
}

std::uint64_t PlacedRanges::counted(std::uintptr_t begin, std::uintptr_t end,
                                    MemoryKind kind) const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::uintptr_t low = std::max(begin, ranges_[i].begin);
    const std::uintptr_t high = std::min(end, ranges_[i].end);
    if (ranges_[i].kind == kind && low < high) sum += high - low;
  }
  return sum;
}

// Replaces older entries for its pages; their charges go back except for pages still there.
void PlacedRanges::record(Placer& placer, PlacedRange range, const PageCensus& pages) {
  for (std::size_t i = 0; i < count_;) {
    PlacedRange& old = ranges_[i];
    const std::uintptr_t low = std::max(range.begin, old.begin);
    const std::uintptr_t high = std::min(range.end, old.end);
    if (low >= high) {
      ++i;
      continue;
    }
    if (old.kind != range.kind) range.besides[static_cast<std::size_t>(old.kind)] += high - low;
    PlacedRange behind = old;
    behind.begin = high;
    old.end = low;
    const bool before_it = old.begin < old.end, behind_it = behind.begin < behind.end;
    // Its additional charges stay with a part that is left, else go to the new range.
    KindBytes& heir = before_it ? old.besides : behind_it ? behind.besides : range.besides;
    const KindBytes besides = old.besides;
    old.besides = behind.besides = {};
    for (std::size_t kind = 0; kind < besides.size(); ++kind)
      heir[kind] += besides[kind];
    if (before_it)
      ++i;
    else
      old = ranges_[--count_];
    if (behind_it) ranges_[count_++] = behind;
  }
  for (const MemoryKind kind : k_all_memory_kinds) {
    std::uint64_t& besides = range.besides[static_cast<std::size_t>(kind)];
    std::uint64_t there = kind == range.kind ? 0 : pages.unqueried;
    for (unsigned node = 0; node < k_max_nodes && kind != range.kind; ++node)
      if (placer.kind_of_node(node) == kind) there += pages.node[node];
    placer.ledger().give_back(kind, besides - std::min(besides, there));
    besides = std::min(besides, there);
  }
  ranges_[count_++] = range;
}

RangeResult PlacedRanges::place(Placer& placer, std::uintptr_t begin, std::size_t bytes,
                                std::size_t tier, bool of_file, std::uint32_t plan_entry,
                                std::uint64_t& missing) {
  missing = 0;
  const std::uintptr_t page = page_size();
  const std::uintptr_t first = round_up(begin, page);
  const std::uintptr_t last = round_down(begin + bytes, page);
  if (first >= last || first < begin) return RangeResult::no_pages;
  const std::lock_guard guard(lock_);
  // Without room for an entry nothing is begun.
  if (!make_room()) return RangeResult::no_room;
  const MemoryKind kind = placer.kind_of_tier(tier);
  const NodeSet nodes = placer.nodes_of_tier(tier);
  if (nodes.empty()) return RangeResult::no_room; // a tier of a DAX directory
  const std::uint64_t charge = last - first - counted(first, last, kind);
  if (!placer.ledger().reserve(kind, charge)) return RangeResult::no_room;
  const auto give_up = [&](RangeResult result) {
    placer.ledger().give_back(kind, charge);
    return result;
  };

  PageCensus before;
  if (!count_pages(first, last - first, before)) return give_up(RangeResult::refused);
  if (!placer.has_room_on(tier, last - first - before.on(nodes)))
    return give_up(RangeResult::no_room);
  split_at_ends(first, last - first);
  if (bind_range(first, last - first, {.nodes = nodes}) == BindResult::refused)
    return give_up(errno == EFAULT || errno == ENOMEM ? RangeResult::not_mapped
                                                      : RangeResult::refused);
  if (of_file) map_in(first, last - first);
  // Alone: a fork waits for the lock, and starting a thread for what a fork holds.
  const MoveOutcome outcome = move_to_nodes(
      first, last - first, {.nodes = nodes, .orders = &placer.node_orders(), .alone = true});
  if (outcome.refused && outcome.moved == 0) {
    unbind_range(first, last - first);
    return give_up(RangeResult::refused);
  }
  record(placer, {first, last, kind, plan_entry}, outcome.after);
  missing = outcome.missing;
  if (outcome.refused) return RangeResult::refused;
  if (missing == 0) return RangeResult::placed;
  return outcome.shared != 0 ? RangeResult::shared : RangeResult::partly;
}

bool PlacedRanges::find(const void* address, PlacedRange& found) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard guard(lock_);
  for (std::size_t i = 0; i < count_; ++i)
    if (at >= ranges_[i].begin && at < ranges_[i].end) {
      found = ranges_[i];
      return true;
    }
  return false;
}

} // namespace omptier
