// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The placement problem without the rule that a site lies in one memory. The time f is convex in
// the parts x of the sites in each tier and of first degree in these and the loops' work w
// (model/loop_time.hpp), so for any x and any placement s, f(s) ≥ ∇f(x)·s + ∂f/∂w·w. The least
// ∇f(x)·s over all s that fit is bounded in turn by Lagrange's relaxation: with a price λ ≥ 0 per
// byte of each tier in each piece of time,
//
//   sum over sites of min over tiers (slope + λ · bytes while the site lives) − sum of λ · capacity
//
// x and λ go towards their optimum together by the volume algorithm (Barahona and Anbil,
// Mathematical Programming 87, 2000): x is an average of the sites' choices, λ rises where x
// overfills a tier. The best bound on the way is taken. Prices and slopes also show which site is
// worth its room; so they make a placement of whole sites.
#pragma once

#include "advisor/needs.hpp"
#include "advisor/placement.hpp"

#include <span>

namespace omptier {

struct Relaxed {
  double bound = 0; // no placement takes less, in nanoseconds of thread time
  std::vector<std::size_t>
      tier_of_site; // free sites where their prices say; others where they were
};

// tier_of_site: a placement to start from. What is not free stays there, kept sites in their room.
Relaxed relax(const Workload& workload, const std::vector<TierChoice>& tiers,
              std::span<const std::size_t> tier_of_site);

// The bound again, by one price for each tier over all time: the better one for few sites.
double least_by_tier_prices(const Workload& workload, const std::vector<TierChoice>& tiers,
                            std::span<const std::size_t> tier_of_site);

} // namespace omptier
