// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By region: the best placement for its demand alone, which moves from the home placement pay, and
// whether they still do when what makes room for them is counted.
#include "advisor/move_advice.hpp"

#include "model/cost.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace omptier {
namespace {

constexpr std::uint64_t k_most_blocks = 128; // of a site that the runtime moves

// At a time, if they were of the mean size.
std::uint64_t blocks_alive(const SiteDemand& site) {
  return site.mean_block > 0 ? site.peak_bytes() / site.mean_block : 1;
}

double time_of_exchange(const SiteDemand& site, const TierChoice& home, const TierChoice& tier) {
  const std::uint64_t blocks = std::max<std::uint64_t>(blocks_alive(site), 1);
  const std::uint64_t bytes = site.peak_bytes() / blocks;
  return static_cast<double>(blocks) * (move_time(bytes, home.figures, tier.figures) +
                                        move_time(bytes, tier.figures, home.figures));
}

// The sites that a region accesses, with its part of their demand, at home. In which of its loops a
// site's demand in the region lies is not known: as in the whole run.
class RegionTimes {
public:
  RegionTimes(const Workload& workload, const std::vector<TierChoice>& tiers, const Placement& home,
              std::size_t region)
      : figures_(figures_of(tiers)), times_(figures_, workload.threads, workload.loops) {
    for (std::size_t site = 0; site < workload.sites.size(); ++site) {
      const Demand demand = workload.sites[site].demand_in(region);
      if (!(demand.total() > 0)) continue;
      times_.add({demand, workload.sites[site].by_loop},
                 std::min(home.tier_of_site[site], tiers.size() - 1));
      item_.emplace(site, item_.size());
    }
  }
  RegionTimes(const RegionTimes&) = delete;
  RegionTimes& operator=(const RegionTimes&) = delete;

  double saved(std::size_t site, std::size_t tier) const {
    const auto item = item_.find(site);
    return item != item_.end() ? -times_.change(item->second, tier) : 0;
  }
  double saved(std::span<const RegionMove> moves) {
    const double before = times_.time();
    for (const RegionMove& move : moves)
      times_.move(item_.at(move.site), move.tier);
    return before - times_.time();
  }

private:
  std::vector<Figures> figures_;
  LoopTimes times_;
  std::map<std::size_t, std::size_t> item_; // by site
};

class Search {
public:
  Search(const Workload& workload, const std::vector<TierChoice>& tiers, const Placement& home)
      : workload_(workload), tiers_(tiers), home_(home), whole_(cost_table(workload, tiers)) {
    for (std::size_t site = 0; site < workload.sites.size(); ++site) {
      const SiteDemand& demand = workload.sites[site];
      const std::size_t tier = home.tier_of_site[site];
      if (tier == Placement::k_nowhere || !demand.is_free() || demand.ranges.empty()) continue;
      if (!with_parts_) with_parts_ = workload;
      with_parts_->sites[site].kept = tier;
    }
  }

  std::vector<RegionMove> run() {
    std::vector<Entered> regions;
    for (std::size_t region = 0; region < workload_.regions.size(); ++region)
      if (auto entered = enter(region)) regions.push_back(std::move(*entered));
    while (drop_what_does_not_pay(regions))
      ;
    std::vector<RegionMove> moves;
    for (const Entered& entered : regions)
      moves.insert(moves.end(), entered.in.begin(), entered.in.end());
    for (const Displaced& displaced : displaced_by(regions)) {
      moves[displaced.first_move].lost += displaced.lost;
      moves.insert(moves.end(), displaced.back.begin(), displaced.back.end());
    }
    return moves;
  }

private:
  // The moves at the begin of a region, and what makes room for them: site and tier.
  struct Entered {
    std::size_t region;
    std::vector<RegionMove> in;
    std::vector<std::pair<std::size_t, std::size_t>> out;
  };
  // Away from home for good, but for the regions that it comes back for.
  struct Displaced {
    std::size_t by;         // index of the first region that it makes room in
    std::size_t first_move; // of that region, among all moves in
    double lost;            // in the whole run, if it never came back
    std::vector<RegionMove> back;
  };

  std::optional<Entered> enter(std::size_t region) const {
    const CostTable costs = cost_table(workload_, tiers_, region);
    if (!any_may_pay(region, costs)) return {};
    const Placement best = place_by_density(with_parts_ ? *with_parts_ : workload_, tiers_, costs);
    RegionTimes times(workload_, tiers_, home_, region);
    Entered entered{region, {}, {}};
    for (std::size_t site = 0; site < costs.size(); ++site) {
      const std::size_t to = best.tier_of_site[site], from = home_.tier_of_site[site];
      if (to == from || to == Placement::k_nowhere || from == Placement::k_nowhere) continue;
      const double alone = costs[site][from] - costs[site][to];
      if (const auto pays = move(region, site, to, from, std::min(alone, times.saved(site, to))))
        entered.in.push_back(*pays);
    }
    if (entered.in.empty()) return {};
    make_room(entered, best, costs);
    double sum = 0;
    for (const RegionMove& move : entered.in)
      sum += move.saved;
    const double together = std::max(0.0, std::min(1.0, times.saved(entered.in) / sum));
    for (RegionMove& move : entered.in)
      move.saved *= together;
    return entered;
  }

  // What the best placement does not keep there leaves, those that lose least in the region first.
  void make_room(Entered& entered, const Placement& best, const CostTable& costs) const {
    for (std::size_t tier = 0; tier < tiers_.size(); ++tier) {
      std::uint64_t needed = 0;
      for (const RegionMove& move : entered.in)
        if (move.tier == tier) needed += workload_.sites[move.site].peak_bytes();
      if (needed == 0) continue;
      std::vector<std::pair<double, std::size_t>> others;
      for (std::size_t site = 0; site < costs.size(); ++site) {
        if (home_.tier_of_site[site] != tier) continue;
        if (workload_.sites[site].placeable) needed += workload_.sites[site].peak_bytes();
        const std::size_t to = best.tier_of_site[site];
        if (to != tier && to != Placement::k_nowhere && can_move(site))
          others.emplace_back(costs[site][to] - costs[site][tier], site);
      }
      std::ranges::sort(others);
      for (const auto& [lost, site] : others) {
        if (needed <= tiers_[tier].capacity) break;
        needed -= workload_.sites[site].peak_bytes();
        entered.out.emplace_back(site, best.tier_of_site[site]);
      }
    }
  }

  // Parts of divided sites stay.
  bool can_move(std::size_t site) const {
    const SiteDemand& demand = workload_.sites[site];
    return demand.is_free() && demand.ranges.empty() && blocks_alive(demand) <= k_most_blocks;
  }

  std::vector<Displaced> displaced_by(const std::vector<Entered>& regions) const {
    std::vector<Displaced> all;
    std::map<std::size_t, bool> seen;
    std::size_t first_move = 0;
    for (std::size_t by = 0; by < regions.size(); first_move += regions[by++].in.size())
      for (const auto& [site, to] : regions[by].out) {
        if (seen[site]) continue;
        seen[site] = true;
        const std::size_t home = home_.tier_of_site[site];
        const double lost = std::max(0.0, whole_[site][to] - whole_[site][home]);
        all.push_back({by, first_move, lost, returns(regions, site, to)});
      }
    return all;
  }

  // For the regions that do not want the site's room for others, or the site elsewhere.
  std::vector<RegionMove> returns(const std::vector<Entered>& regions, std::size_t site,
                                  std::size_t away) const {
    std::vector<RegionMove> back;
    for (const RegionDemand& in : workload_.sites[site].by_region) {
      const auto moves_it = [&](const Entered& entered) {
        return entered.region == in.region &&
               (std::ranges::any_of(entered.out, [&](auto& out) { return out.first == site; }) ||
                std::ranges::any_of(entered.in, [&](auto& move) { return move.site == site; }));
      };
      if (std::ranges::any_of(regions, moves_it)) continue;
      const std::size_t home = home_.tier_of_site[site];
      const auto time_on = [&](std::size_t tier) {
        return demand_time(in.demand, tiers_[tier].figures, workload_.threads);
      };
      if (const auto pays = move(in.region, site, home, away, time_on(away) - time_on(home)))
        back.push_back(*pays);
    }
    return back;
  }

  // Whether there were any: they may have shared what made room with those that stay.
  bool drop_what_does_not_pay(std::vector<Entered>& regions) const {
    std::vector<double> net;
    for (const Entered& entered : regions) {
      net.push_back(0);
      for (const RegionMove& move : entered.in)
        net.back() += move.saved - price(move);
    }
    for (const Displaced& displaced : displaced_by(regions)) {
      net[displaced.by] -= displaced.lost;
      for (const RegionMove& move : displaced.back)
        net[displaced.by] += move.saved - price(move);
    }
    const auto least = std::ranges::min_element(net);
    if (least == net.end() || *least > 0) return false;
    regions.erase(regions.begin() + (least - net.begin()));
    return true;
  }
  double price(const RegionMove& move) const {
    return k_move_margin * move.spent * workload_.threads.most();
  }

  // Most regions are too short for any move: then the best placement for them need not be known.
  bool any_may_pay(std::size_t region, const CostTable& costs) const {
    for (std::size_t site = 0; site < costs.size(); ++site)
      for (std::size_t tier = 0; tier < tiers_.size(); ++tier)
        if (const std::size_t home = home_.tier_of_site[site];
            home != Placement::k_nowhere && tier != home &&
            move(region, site, tier, home, costs[site][home] - costs[site][tier]))
          return true;
    return false;
  }

  // Nothing if it does not pay. saved: nanoseconds of thread time.
  std::optional<RegionMove> move(std::size_t region, std::size_t site, std::size_t tier,
                                 std::size_t from, double saved) const {
    if (!(saved > 0) || !can_move(site)) return {};
    const double visits = static_cast<double>(workload_.regions[region].entered_anew);
    const double spent =
        visits * time_of_exchange(workload_.sites[site], tiers_[from], tiers_[tier]);
    RegionMove made{region, site, tier, saved, spent};
    if (!(visits > 0 && saved > price(made))) return {};
    return made;
  }

  const Workload& workload_;
  const std::vector<TierChoice>& tiers_;
  const Placement& home_;
  CostTable whole_;
  std::optional<Workload> with_parts_; // the same with parts kept where they are, if there are any
};

} // namespace

std::vector<RegionMove> moves_that_pay(const Workload& workload,
                                       const std::vector<TierChoice>& tiers,
                                       const Placement& home) {
  return Search(workload, tiers, home).run();
}

} // namespace omptier
