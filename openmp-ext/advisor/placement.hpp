// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which site goes to which kind of memory when it stays there for as long as it lives: the model's
// solver (model/solver.hpp) over the lifetimes of a workload. The gain of a site on a tier is the
// time it saves against the slowest usable kind; a site's density is value / peak bytes. A site
// without room anywhere loses a per mille of the time of all, as for ompx_commit.
#pragma once

#include "advisor/workload.hpp"
#include "platform/platform.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace omptier {

// A kind the advisor may use, with the bytes it may use of it.
struct TierChoice {
  MemoryKind kind = MemoryKind::unknown;
  std::uint64_t capacity = 0;
  Figures figures;
  bool estimated = false; // some of the figures are
};

// The kinds of the platform with the smaller of their capacity and the limit; kinds limited to 0
// are left out; fastest first as the platform orders them. Tiers of one kind are taken together.
// Unknown figures are estimated.
std::vector<TierChoice> usable_tiers(const Platform& platform, const CapacityByKind& limits);

struct Placement {
  // For each site of the workload the index of its tier, k_nowhere when no tier has room for it.
  static constexpr std::size_t k_nowhere = static_cast<std::size_t>(-1);
  std::vector<std::size_t> tier_of_site;
  double saved = 0; // nanoseconds of thread time against everything in the slowest kind
};

// Nanoseconds of thread time for each (site, tier), in the whole run or in one region.
using CostTable = std::vector<std::vector<double>>;
CostTable cost_table(const Workload& workload, const std::vector<TierChoice>& tiers,
                     std::optional<std::size_t> region = {});

// Of one row: nanoseconds against the slowest tier.
double time_saved(const std::vector<double>& costs, std::size_t tier);

Placement place_by_density(const Workload& workload, const std::vector<TierChoice>& tiers,
                           const CostTable& costs);

} // namespace omptier
