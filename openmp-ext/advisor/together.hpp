// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second step of the advisor: placement.hpp weighs each site alone; here the loops that access
// several sites are timed as a whole (model/loop_time.hpp), and single sites and whole loops' sites
// change places while that saves time.
#pragma once

#include "advisor/placement.hpp"
#include "model/loop_time.hpp"

#include <span>

namespace omptier {

// A placement with its times: an item of theirs is a site.
class PlacementTimes {
public:
  PlacementTimes(const Workload& workload, const std::vector<TierChoice>& tiers,
                 std::span<const std::size_t> tier_of_site,
                 LoopTimes::Which which = LoopTimes::Which::usual);
  PlacementTimes(const PlacementTimes&) = delete;
  PlacementTimes& operator=(const PlacementTimes&) = delete;

private:
  std::vector<Figures> figures_;

public:
  LoopTimes times;
};

// Nanoseconds of thread time. A site that is nowhere counts as in the slowest kind.
double predicted_time(const Workload& workload, const std::vector<TierChoice>& tiers,
                      std::span<const std::size_t> tier_of_site,
                      LoopTimes::Which which = LoopTimes::Which::usual);

// Never slower than before; deterministic. Leaves it as it is when no site is in a known loop
// and all live at the same time.
void improve_together(const Workload& workload, const std::vector<TierChoice>& tiers,
                      std::vector<std::size_t>& tier_of_site, Effort effort = Effort::thorough);

// Of placements that are nearly as fast, the one that has the first names in the fastest memory.
// Independent profiles of a program differ by chance, and would else lead to different plans.
void settle(const Workload& workload, const std::vector<TierChoice>& tiers,
            std::vector<std::size_t>& tier_of_site);

// Brings the slices of a site that lie in several tiers into one where that costs next to nothing.
// site_of: of each slice; slices of one site are neighbours.
void tidy_slices(const Workload& slices, const std::vector<TierChoice>& tiers,
                 std::span<const std::size_t> site_of, std::vector<std::size_t>& tier_of_slice);

} // namespace omptier
