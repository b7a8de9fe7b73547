// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See from_samples.hpp.
#include "advisor/from_samples.hpp"

#include "advisor/together.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace omptier {
namespace {

constexpr std::size_t k_most_varied = 64, k_least_varied = 4; // sites
constexpr std::size_t k_most_work = 500'000;                  // sites varied times all sites

struct Ends { // factors of the demand
  std::size_t site = 0;
  double low = 1, high = 1, width = 0;
};

// Parts of one site are wrong together.
std::vector<Ends> widest(const Workload& workload) {
  struct Sum {
    double share = 0, low = 0, high = 0;
  };
  std::map<std::size_t, Sum> sums;
  for (const SiteDemand& demand : workload.sites) {
    Sum& sum = sums[demand.site];
    sum.share += demand.share;
    sum.low += demand.share_low;
    sum.high += demand.share_high;
  }
  std::vector<Ends> ends;
  for (const auto& [site, sum] : sums)
    if (sum.share > 0 && sum.high > sum.low)
      ends.push_back({site, sum.low / sum.share, sum.high / sum.share, sum.high - sum.low});
  std::ranges::stable_sort(ends, std::greater{}, &Ends::width);
  const std::size_t most = std::clamp(k_most_work / std::max<std::size_t>(workload.sites.size(), 1),
                                      k_least_varied, k_most_varied);
  if (ends.size() > most) ends.resize(most);
  return ends;
}

double time_with(const Advice& advice, std::size_t site, double factor) {
  return predicted_time(with_demand(advice.workload, site, factor), advice.tiers,
                        advice.placement.tier_of_site) +
         advice.workload.rest + advice.in_step - advice.gain_of_moves;
}

} // namespace

Workload with_demand(Workload workload, std::size_t site, double factor) {
  for (SiteDemand& demand : workload.sites) {
    if (demand.site != site) continue;
    demand.demand *= factor;
    for (RegionDemand& in : demand.by_region)
      in.demand *= factor;
  }
  return workload;
}

Range from_samples(const Workload& workload, const FigureOf& of) {
  Range range;
  range.value = of(0, 1);
  double below = 0, above = 0; // squares
  for (const Ends& ends : widest(workload))
    for (const double factor : {ends.low, ends.high}) {
      const double change = of(ends.site, factor) - range.value;
      (change < 0 ? below : above) += change * change;
    }
  range.low = range.value - std::sqrt(below);
  range.high = range.value + std::sqrt(above);
  return range;
}

Range speed_up_from_samples(const Advice& advice) {
  if (advice.tiers.empty() || !(advice.time_with_moves() > 0)) return {1, 1, 1};
  Advice slow = advice;
  slow.placement.tier_of_site.assign(advice.workload.sites.size(), advice.tiers.size() - 1);
  slow.gain_of_moves = slow.in_step = 0;
  return from_samples(advice.workload, [&](std::size_t site, double factor) {
    return time_with(slow, site, factor) / time_with(advice, site, factor);
  });
}

Range price_from_samples(const Advice& advice, const Advice& other) {
  return from_samples(advice.workload, [&](std::size_t site, double factor) {
    return time_with(other, site, factor) - time_with(advice, site, factor);
  });
}

} // namespace omptier
