// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strategies that choose for the fastest kind the set of sites with the greatest value, then for
// the next kind of those that are left.
#include "advisor/strategies/seats.hpp"
#include "model/solver.hpp"

#include <cmath>
#include <new>

namespace omptier {

std::vector<std::size_t>
place_kind_by_kind(const StrategyInput& input, Lifetimes lifetimes,
                   const std::function<double(std::size_t, std::size_t)>& value) {
  Seats seats(input, lifetimes);
  for (std::size_t tier = 0; tier + 1 < input.tiers.size(); ++tier) {
    std::vector<Candidate> candidates(input.workload.sites.size());
    for (std::size_t site = 0; site < candidates.size(); ++site) {
      const SiteDemand& demand = input.workload.sites[site];
      Candidate& candidate = candidates[site];
      static_cast<Need&>(candidate) = seats.needs().of(site);
      if (lifetimes == Lifetimes::ignored) candidate.stays = {};
      candidate.mandatory = demand.kept == tier; // it has its room already
      const bool decided = !demand.is_free() || seats.tier_of(site) != Placement::k_nowhere;
      if (!candidate.mandatory && decided) continue;
      const double gain = value(site, tier);
      if (gain < 0 && !candidate.mandatory) continue;
      candidate.mandatory = candidate.mandatory || std::isinf(gain);
      candidate.allowed = 1;
      candidate.gain[0] = std::isinf(gain) ? 0 : gain;
      candidate.loss = candidate.mandatory ? 1e300 : 0;
    }
    std::vector<std::uint8_t> chosen(candidates.size());
    const std::uint64_t capacity = input.tiers[tier].capacity;
    if (!choose_set({candidates, {&capacity, 1}, seats.needs().pieces()}, DecisionOrder::density,
                    chosen))
      throw std::bad_alloc();
    for (const std::size_t site : seats.free_sites())
      if (chosen[site] == 0) seats.put(site, tier);
  }
  return seats.finish();
}

namespace {

std::vector<std::size_t> place_by_access_time(const StrategyInput& input, Lifetimes lifetimes) {
  return place_kind_by_kind(input, lifetimes, [&](std::size_t site, std::size_t tier) {
    const SiteDemand& demand = input.workload.sites[site];
    const Counted counted = count(demand.demand, demand.cached);
    return access_time_h2m(counted, input.tiers.back().figures) -
           access_time_h2m(counted, input.tiers[tier].figures);
  });
}

} // namespace

std::vector<std::size_t> place_idp(const StrategyInput& input) {
  return place_by_access_time(input, Lifetimes::ignored);
}

std::vector<std::size_t> place_idp_lt(const StrategyInput& input) {
  return place_by_access_time(input, Lifetimes::known);
}

std::vector<std::size_t> place_membrain(const StrategyInput& input) {
  return place_kind_by_kind(input, Lifetimes::ignored, [&](std::size_t site, std::size_t) {
    return lines(input.workload.sites[site]);
  });
}

} // namespace omptier
