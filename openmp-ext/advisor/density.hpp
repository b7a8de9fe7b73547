// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Value density with lifetimes: which site goes to which kind of memory when it stays there for as
// long as it lives. The value of a placement is the time it saves against the slowest usable kind;
// a site's density is value / peak bytes. Sites are taken by density and put into the kind that
// saves most among those with room while they live; then exchanges that save time are made until
// none is left: one site of a faster kind leaves for a slower one so that another may enter.
#pragma once

#include "advisor/tier_choice.hpp"
#include "advisor/workload.hpp"

#include <cstddef>
#include <vector>

namespace omptier {

struct Placement {
  // For each site of the workload the index of its tier, k_nowhere when no tier has room for it.
  static constexpr std::size_t k_nowhere = static_cast<std::size_t>(-1);
  std::vector<std::size_t> tier_of_site;
  double saved = 0; // nanoseconds of thread time against everything in the slowest kind
};

// Nanoseconds of thread time for each (site, tier).
using CostTable = std::vector<std::vector<double>>;
CostTable cost_table(const Workload& workload, const std::vector<TierChoice>& tiers);

Placement place_by_density(const Workload& workload, const std::vector<TierChoice>& tiers,
                           const CostTable& costs);

} // namespace omptier
