// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By region: the best placement for its demand alone, and which moves from the home placement pay.
#include "advisor/move_advice.hpp"

#include "model/cost.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace omptier {
namespace {

constexpr double k_least_of_program = 0.001; // of the program's time, by a region's moves together

double time_of_exchange(std::uint64_t bytes, const TierChoice& home, const TierChoice& tier) {
  return move_time(bytes, home.figures, tier.figures) +
         move_time(bytes, tier.figures, home.figures);
}

class Search {
public:
  Search(const Workload& workload, const std::vector<TierChoice>& tiers, const Placement& home)
      : workload_(workload), tiers_(tiers), home_(home), figures_(figures_of(tiers)) {
    for (std::size_t site = 0; site < workload.sites.size(); ++site) {
      const SiteDemand& demand = workload.sites[site];
      const std::size_t tier = home.tier_of_site[site];
      if (tier == Placement::k_nowhere || !demand.is_free() || demand.ranges.empty()) continue;
      if (!with_parts_) with_parts_ = workload;
      with_parts_->sites[site].kept = tier;
    }
  }

  std::vector<RegionMove> run() {
    const auto stretches = stretches_of_regions();
    std::vector<std::size_t> taken; // regions, or their stretches instead
    for (std::size_t region = 0; region < workload_.regions.size(); ++region) {
      if (!workload_.regions[region].is_whole()) continue;
      std::vector<Found> whole = moves_into(region), parts;
      for (const std::size_t stretch : stretches[region])
        std::ranges::copy(moves_into(stretch), std::back_inserter(parts));
      const double divided_gain = parts.empty() ? 0 : gain(parts) - lost(stretches[region], parts);
      const bool divided = divided_gain > gain(whole);
      keep(divided ? parts : whole);
      if (divided)
        taken.insert(taken.end(), stretches[region].begin(), stretches[region].end());
      else
        taken.push_back(region);
    }
    for (const std::size_t region : taken)
      add_returns(region);
    return std::move(moves_);
  }

private:
  struct Found {
    RegionMove move;
    std::size_t from = 0; // tier
  };

  // A team of one thread reports no barriers to the runtime.
  std::vector<std::vector<std::size_t>> stretches_of_regions() const {
    std::vector<std::vector<std::size_t>> stretches(workload_.regions.size());
    if (workload_.threads.most() == 1) return stretches;
    for (std::size_t region = 0; region < workload_.regions.size(); ++region)
      if (const WorkloadRegion& at = workload_.regions[region]; !at.is_whole())
        stretches[at.part_of].push_back(region);
    return stretches;
  }

  double gain(const std::vector<Found>& found) const {
    double gain = 0;
    for (const auto& [move, from] : found)
      gain += move.saved / workload_.threads.most() - move.spent;
    return gain;
  }

  // By what has made room for these moves, in the stretches for which it cannot come back, since it
  // is not known when they begin.
  double lost(const std::vector<std::size_t>& stretches, const std::vector<Found>& parts) const {
    double lost = 0;
    for (const std::size_t stretch : stretches) {
      if (workload_.regions[stretch].entered_anew != 0) continue;
      const CostTable costs = cost_table(workload_, tiers_, stretch);
      for (std::size_t site = 0; site < costs.size(); ++site) {
        const std::size_t tier = home_.tier_of_site[site];
        const auto displaced = std::ranges::find_if(parts, [&](const Found& part) {
          return part.move.tier == tier && part.move.site != site;
        });
        if (displaced != parts.end())
          lost += std::max(0.0, costs[site][displaced->from] - costs[site][tier]);
      }
    }
    return lost / workload_.threads.most();
  }

  std::vector<Found> moves_into(std::size_t region) {
    if (workload_.regions[region].entered_anew == 0) return {};
    const CostTable costs = cost_table(workload_, tiers_, region);
    if (!any_may_pay(region, costs)) return {};
    const Placement best = place_by_density(with_parts_ ? *with_parts_ : workload_, tiers_, costs);
    std::vector<Found> found;
    double lost = 0; // by what makes room for the others
    for (std::size_t site = 0; site < costs.size(); ++site) {
      const std::size_t to = best.tier_of_site[site], from = home_.tier_of_site[site];
      if (to == from) continue;
      if (const auto pays = move(region, site, to, from, costs))
        found.push_back({*pays, from});
      else if (to != Placement::k_nowhere && from != Placement::k_nowhere)
        lost += std::max(0.0, costs[site][to] - costs[site][from]);
    }
    RegionMove all;
    all.saved = -lost * scale(found);
    for (const auto& [move, from] : found) {
      all.saved += move.saved;
      all.spent += move.spent;
    }
    if (!pays(all)) found.clear();
    return found;
  }

  bool pays(const RegionMove& move) const {
    return move.saved / workload_.threads.most() > k_move_margin * move.spent;
  }

  // Savings are of each site alone; loops may work meanwhile, or wait for others of their sites.
  // Leaves the part that remains, if the moves held for the whole run, and what pays then. Returns
  // the part.
  double scale(std::vector<Found>& found) {
    if (!times_) { // without first touch: pages move after it; nowhere counts as the slowest
      times_.emplace(figures_, workload_.threads, workload_.loop_work);
      for (std::size_t site = 0; site < workload_.sites.size(); ++site)
        times_->add({workload_.sites[site].demand, workload_.sites[site].by_loop},
                    std::min(home_.tier_of_site[site], tiers_.size() - 1));
    }
    double alone = 0;
    for (const auto& [move, from] : found) {
      const Demand& demand = workload_.sites[move.site].demand;
      alone += demand_time(demand, figures_[from], workload_.threads) -
               demand_time(demand, figures_[move.tier], workload_.threads);
      times_->move(move.site, from);
    }
    const double before = times_->time();
    for (const auto& [move, from] : found)
      times_->move(move.site, move.tier);
    const double together = before - times_->time();
    for (const auto& [move, from] : found)
      times_->move(move.site, home_.tier_of_site[move.site]);
    const double part = alone > 0 ? std::clamp(together / alone, 0.0, 1.0) : 1;
    for (auto& [move, from] : found)
      move.saved *= part;
    std::erase_if(found, [&](const Found& one) { return !pays(one.move); });
    return part;
  }
  void keep(const std::vector<Found>& found) {
    double saved = 0;
    for (const Found& one : found)
      saved += one.move.saved;
    if (found.empty() || saved < k_least_of_program * (times_->time() + workload_.rest)) return;
    for (const Found& one : found)
      moves_.push_back(one.move);
  }

  // Parts of divided sites stay, and what shares its pages.
  bool can_move(std::size_t site) const {
    const SiteDemand& demand = workload_.sites[site];
    return demand.is_free() && demand.ranges.empty() && !demand.small_blocks;
  }

  // Sites whose home is a tier that others move into come back for their own regions.
  void add_returns(std::size_t region) {
    if (moves_.empty()) return;
    const CostTable costs = cost_table(workload_, tiers_, region);
    std::vector<Found> found;
    for (std::size_t site = 0; site < costs.size(); ++site) {
      const std::size_t tier = home_.tier_of_site[site];
      const auto displacing = [&](const RegionMove& move) {
        return move.tier == tier && move.site != site && move.region != region;
      };
      const auto displaced = std::ranges::find_if(moves_, displacing);
      if (displaced == moves_.end()) continue;
      const std::size_t from = home_.tier_of_site[displaced->site];
      if (const auto back = move(region, site, tier, from, costs)) found.push_back({*back, from});
    }
    scale(found);
    keep(found);
  }

  // Most regions are too short for any move: then the best placement for them need not be known.
  bool any_may_pay(std::size_t region, const CostTable& costs) const {
    for (std::size_t site = 0; site < costs.size(); ++site)
      for (std::size_t tier = 0; tier < tiers_.size(); ++tier)
        if (tier != home_.tier_of_site[site] &&
            move(region, site, tier, home_.tier_of_site[site], costs))
          return true;
    return false;
  }

  // Nothing if it does not pay.
  std::optional<RegionMove> move(std::size_t region, std::size_t site, std::size_t tier,
                                 std::size_t from, const CostTable& costs) const {
    if (tier == Placement::k_nowhere || from == Placement::k_nowhere || !can_move(site)) return {};
    const double visits = static_cast<double>(workload_.regions[region].entered_anew);
    const double saved = costs[site][from] - costs[site][tier];
    if (!(saved > 0)) return {};
    const double spent =
        visits * time_of_exchange(workload_.sites[site].peak_bytes(), tiers_[from], tiers_[tier]);
    const RegionMove move{region, site, tier, saved, spent};
    if (!(visits > 0 && pays(move))) return {};
    return move;
  }

  const Workload& workload_;
  const std::vector<TierChoice>& tiers_;
  const Placement& home_;
  const std::vector<Figures> figures_;
  std::optional<LoopTimes> times_;     // made on first use
  std::optional<Workload> with_parts_; // the same with parts kept where they are, if there are any
  std::vector<RegionMove> moves_;
};

} // namespace

std::vector<RegionMove> moves_that_pay(const Workload& workload,
                                       const std::vector<TierChoice>& tiers,
                                       const Placement& home) {
  return Search(workload, tiers, home).run();
}

} // namespace omptier
