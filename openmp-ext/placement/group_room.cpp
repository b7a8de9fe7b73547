// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Room below the limit of a control group, which several kinds of memory and several processes
// share. What counts against it beside the pages that are there: blocks about to be made present
// (announced), and blocks handed out for first touch, as far as they were not seen touched
// (promised), of this process and, through the job's ledger, of the others.
#include "placement/placer.hpp"

namespace omptier {

bool Placer::group_leaves(std::uint64_t bytes) {
  if (!cgroup_.limited()) return true;
  std::uint64_t coming = announced_.load(std::memory_order_relaxed);
  for (std::size_t tier = 0; tier < tier_count_; ++tier)
    coming += places_[tier].promised.load(std::memory_order_relaxed);
  job_.publish_coming(coming); // before room is read: of two that ask at once, one sees the other
  const std::uint64_t room = cgroup_.room();
  return coming + bytes <= room && job_.coming_of_others() <= room - coming - bytes;
}

// What was touched meanwhile is no longer coming; what nobody uses goes back; and who is gone takes
// nothing.
void Placer::make_group_room() {
  for (std::size_t tier = 0; tier < tier_count_; ++tier)
    count_promised(places_[tier]);
  for (const MemoryKind kind : k_all_memory_kinds)
    drop_caches(kind, ~std::size_t{0});
  job_.reclaim_slots();
  job_.ask_for_recount();
}

void Placer::answer_recount() {
  if (!cgroup_.limited() || !job_.recount_wanted()) return;
  for (std::size_t tier = 0; tier < tier_count_; ++tier)
    count_promised(places_[tier]);
  group_leaves(0); // publishes
}

} // namespace omptier
