// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Greedy placement by value density, then exchanges.
#include "advisor/density.hpp"

#include "advisor/usage.hpp"
#include "model/cost.hpp"

#include <algorithm>
#include <numeric>

namespace omptier {
namespace {

constexpr int k_exchange_rounds = 8;

class Solver {
public:
  Solver(const Workload& workload, const std::vector<TierChoice>& tiers, const CostTable& costs)
      : workload_(workload), costs_(costs), placed_(workload.sites.size(), Placement::k_nowhere) {
    const auto cuts = moments_of_change(workload);
    for (const TierChoice& tier : tiers)
      usage_.emplace_back(cuts, tier.capacity);
  }

  void fill_by_density() {
    std::vector<std::size_t> order(workload_.sites.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return density(a) > density(b); });
    for (const std::size_t site : order)
      put(site, best_tier_with_room(site));
  }

  // Lets a site into a faster tier when the sites that must leave it for that lose less.
  void exchange() {
    for (int round = 0; round < k_exchange_rounds; ++round) {
      bool changed = false;
      for (std::size_t site = 0; site < placed_.size(); ++site)
        for (std::size_t tier = 0; tier < usage_.size(); ++tier)
          changed = try_to_enter(site, tier) || changed;
      if (!changed) return;
    }
  }

  Placement result() const {
    Placement placement{placed_, 0};
    for (std::size_t site = 0; site < placed_.size(); ++site)
      placement.saved += slowest(site) - cost(site, placed_[site]);
    return placement;
  }

private:
  double slowest(std::size_t site) const {
    return costs_[site].empty() ? 0 : *std::ranges::max_element(costs_[site]);
  }
  double cost(std::size_t site, std::size_t tier) const {
    return tier == Placement::k_nowhere ? slowest(site) : costs_[site][tier];
  }
  double density(std::size_t site) const {
    if (costs_[site].empty()) return 0;
    const double value = slowest(site) - *std::ranges::min_element(costs_[site]);
    return value /
           static_cast<double>(std::max<std::uint64_t>(workload_.sites[site].peak_bytes(), 1));
  }

  // Of the tiers with room the cheapest for this site; when a site gains nothing anywhere, the last
  // one with room, so that fast memory stays free for others.
  std::size_t best_tier_with_room(std::size_t site) const {
    std::size_t best = Placement::k_nowhere;
    for (std::size_t tier = usage_.size(); tier-- > 0;) {
      if (!usage_[tier].fits(workload_.sites[site])) continue;
      if (best == Placement::k_nowhere || costs_[site][tier] < costs_[site][best]) best = tier;
    }
    return best;
  }

  void put(std::size_t site, std::size_t tier) {
    if (placed_[site] != Placement::k_nowhere) usage_[placed_[site]].remove(workload_.sites[site]);
    placed_[site] = tier;
    if (tier != Placement::k_nowhere) usage_[tier].add(workload_.sites[site]);
  }

  bool try_to_enter(std::size_t site, std::size_t tier) {
    double gain = cost(site, placed_[site]) - costs_[site][tier];
    if (gain <= 0) return false;
    const std::vector<std::size_t> before = placed_;
    put(site, Placement::k_nowhere);
    // The cheapest to lose per byte leave first, until the site fits.
    std::vector<std::size_t> inside;
    for (std::size_t other = 0; other < placed_.size(); ++other)
      if (placed_[other] == tier) inside.push_back(other);
    std::ranges::stable_sort(inside,
                             [&](std::size_t a, std::size_t b) { return density(a) < density(b); });
    for (const std::size_t other : inside) {
      if (usage_[tier].fits(workload_.sites[site])) break;
      put(other, Placement::k_nowhere);
    }
    bool better = false;
    if (usage_[tier].fits(workload_.sites[site])) {
      put(site, tier);
      for (auto other = inside.rbegin(); other != inside.rend(); ++other)
        if (placed_[*other] == Placement::k_nowhere) {
          put(*other, best_tier_with_room(*other));
          gain -= cost(*other, placed_[*other]) - costs_[*other][tier];
        }
      better = gain > 1e-9 * slowest(site);
    }
    if (!better)
      for (std::size_t other = 0; other < placed_.size(); ++other)
        put(other, before[other]);
    return better;
  }

  const Workload& workload_;
  const CostTable& costs_;
  std::vector<std::size_t> placed_;
  std::vector<Usage> usage_;
};

} // namespace

CostTable cost_table(const Workload& workload, const std::vector<TierChoice>& tiers) {
  CostTable costs;
  for (const SiteDemand& site : workload.sites) {
    auto& row = costs.emplace_back();
    for (const TierChoice& tier : tiers)
      row.push_back(demand_time(site.demand, tier.figures, workload.threads));
  }
  return costs;
}

Placement place_by_density(const Workload& workload, const std::vector<TierChoice>& tiers,
                           const CostTable& costs) {
  Solver solver(workload, tiers, costs);
  solver.fill_by_density();
  solver.exchange();
  return solver.result();
}

} // namespace omptier
