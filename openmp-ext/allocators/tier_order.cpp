// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For the space of a kind, the tiers of that kind come first; for a standard space, the tier that
// fits its meaning best. Then, unless placement is required, all others follow, ordered by the
// property that matters by the traits.
#include "allocators/tier_order.hpp"

#include "allocators/declared_demand.hpp"
#include "base/notices.hpp"
#include "base/os.hpp"

#include <algorithm>

namespace omptier {
namespace {

void add_by_traits(Placer& placer, const Allocator& allocator, TierOrder& order) {
  const unsigned cpu = current_cpu();
  const ChoiceTable& choices = placer.choices();
  const auto add = [&](std::size_t tier) {
    if (tier < placer.tier_count()) order.add(tier);
  };

  const TraitSet& traits = allocator.traits;
  const Preference usual = is_scattered(traits) ? Preference::latency : Preference::bandwidth;
  if (const auto kind =
          allocator.places_default_space() ? MemoryKind::dram : kind_of(allocator.space)) {
    for (std::size_t t = 0; t < placer.tier_count(); ++t)
      if (placer.kind_of_tier(t) == *kind) add(t);
  } else if (allocator.space != Space::automatic) {
    const Preference preference = allocator.space == Space::high_bw     ? Preference::bandwidth
                                  : allocator.space == Space::low_lat   ? Preference::latency
                                  : allocator.space == Space::large_cap ? Preference::capacity
                                                                        : Preference::read_only;
    const auto best = choices.tiers(preference, cpu);
    if (!best.empty()) add(best.front());
  }
  if (allocator.required()) return;

  const auto all = choices.tiers(usual, cpu);
  if (is_cold(traits))
    for (auto tier = all.rbegin(); tier != all.rend(); ++tier)
      add(*tier);
  else
    for (const std::size_t tier : all)
      add(tier);
}

} // namespace

void TierOrder::add(std::size_t tier) {
  if (count_ < k_most_tiers && std::find(begin(), end(), tier) == end()) tiers_[count_++] = tier;
}

MemoryKind wanted_kind(const Allocator& allocator) {
  return kind_of(allocator.space).value_or(MemoryKind::unknown);
}

TierOrder tiers_of(Placer& placer, const Allocator& allocator) {
  TierOrder order;
  if (const std::size_t decided = allocator.decided_tier; decided < placer.tier_count())
    order.add(decided);
  add_by_traits(placer, allocator, order);
  return order;
}

TierOrder tiers_by_traits(Placer& placer, const Allocator& allocator) {
  TierOrder order;
  add_by_traits(placer, allocator, order);
  return order;
}

TierOrder tiers_of_kinds(const Placer& placer, std::span<const MemoryKind> kinds) {
  TierOrder order;
  for (const MemoryKind kind : kinds) {
    bool lacking = true;
    for (std::size_t tier = 0; tier < placer.tier_count(); ++tier) {
      if (placer.kind_of_tier(tier) != kind) continue;
      order.add(tier);
      lacking = false;
    }
    if (lacking)
      warn_once_of(Notice::missing_tier, name_of(kind),
                   "The plan wants %s, which this machine lacks: its next choice is taken, "
                   "or else the runtime's default memory.",
                   title_of(kind).data());
  }
  return order;
}

} // namespace omptier
