// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a platform's tiers and the user's limits to the kinds that may be used.
#include "advisor/tier_choice.hpp"

#include "platform/usual_figures.hpp"

#include <algorithm>

namespace omptier {

std::vector<TierChoice> usable_tiers(const Platform& platform, const CapacityByKind& limits) {
  const FigureEstimates estimates(platform.tiers);
  std::vector<TierChoice> choices;
  for (const Tier& tier : platform.tiers) {
    if (tier.kind == MemoryKind::unknown) continue;
    const auto same = std::ranges::find(choices, tier.kind, &TierChoice::kind);
    if (same != choices.end())
      same->capacity += tier.capacity;
    else
      choices.push_back({tier.kind, tier.capacity, estimates.estimate(tier.kind, tier.figures),
                         !are_known(tier.figures)});
  }
  for (TierChoice& choice : choices)
    if (const auto& limit = limits[static_cast<std::size_t>(choice.kind)])
      choice.capacity = std::min(choice.capacity, *limit);
  std::erase_if(choices, [](const TierChoice& choice) { return choice.capacity == 0; });
  return choices;
}

} // namespace omptier
