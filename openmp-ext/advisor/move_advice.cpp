// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By region: the best placement for its demand alone, and which moves from the home placement pay.
#include "advisor/move_advice.hpp"

#include "model/cost.hpp"

#include <algorithm>
#include <optional>

namespace omptier {
namespace {

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
    for (std::size_t region = 0; region < workload_.regions.size(); ++region)
      add_moves_into(region);
    for (std::size_t region = 0; region < workload_.regions.size(); ++region)
      add_returns(region);
    return std::move(moves_);
  }

private:
  void add_moves_into(std::size_t region) {
    const CostTable costs = cost_table(workload_, tiers_, region);
    if (!any_may_pay(region, costs)) return;
    const Placement best = place_by_density(with_parts_ ? *with_parts_ : workload_, tiers_, costs);
    std::vector<RegionMove> found;
    double saved = 0, spent = 0;
    for (std::size_t site = 0; site < costs.size(); ++site) {
      const std::size_t to = best.tier_of_site[site], from = home_.tier_of_site[site];
      if (to == from) continue;
      if (const auto pays = move(region, site, to, from, costs)) {
        found.push_back(*pays);
        saved += pays->saved;
        spent += pays->spent;
      } else if (to != Placement::k_nowhere && from != Placement::k_nowhere) {
        saved -= std::max(0.0, costs[site][to] - costs[site][from]); // makes room for the others
      }
    }
    const double part = saved_together(found);
    for (RegionMove& move : found)
      move.saved *= part;
    if (part * saved / workload_.threads.most() > k_move_margin * spent)
      moves_.insert(moves_.end(), found.begin(), found.end());
  }

  // Costs are of each site alone. Loops may work meanwhile, or wait for others of their sites: the
  // part that is saved if the moves held for the whole run.
  double saved_together(const std::vector<RegionMove>& moves) {
    if (!times_) {
      times_.emplace(figures_, workload_.threads, workload_.loop_work);
      for (std::size_t site = 0; site < workload_.sites.size(); ++site)
        times_->add({workload_.sites[site].demand, workload_.sites[site].by_loop},
                    std::min(home_.tier_of_site[site], tiers_.size() - 1));
    }
    const double before = times_->time();
    double alone = 0;
    for (const RegionMove& move : moves) {
      const Demand& demand = workload_.sites[move.site].demand;
      alone += demand_time(demand, figures_[home_.tier_of_site[move.site]], workload_.threads) -
               demand_time(demand, figures_[move.tier], workload_.threads);
      times_->move(move.site, move.tier);
    }
    const double together = before - times_->time();
    for (const RegionMove& move : moves)
      times_->move(move.site, home_.tier_of_site[move.site]);
    return alone > 0 ? std::clamp(together / alone, 0.0, 1.0) : 1;
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
    const std::size_t found = moves_.size();
    for (std::size_t site = 0; site < costs.size(); ++site) {
      const std::size_t tier = home_.tier_of_site[site];
      const auto displacing = [&](const RegionMove& move) {
        return move.tier == tier && move.site != site && move.region != region;
      };
      const auto end = moves_.begin() + static_cast<std::ptrdiff_t>(found);
      const auto displaced = std::find_if(moves_.begin(), end, displacing);
      if (displaced == end) continue;
      if (const auto back = move(region, site, tier, home_.tier_of_site[displaced->site], costs))
        moves_.push_back(*back);
    }
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
    if (!(visits > 0 && saved / workload_.threads.most() > k_move_margin * spent)) return {};
    return RegionMove{region, site, tier, saved, spent};
  }

  const Workload& workload_;
  const std::vector<TierChoice>& tiers_;
  const Placement& home_;
  const std::vector<Figures> figures_;
  std::optional<LoopTimes> times_;     // made if it is asked for
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
