// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PBDP: a knapsack for each phase, in which it costs time to lie elsewhere than before. For a site
// that lies in a kind (y = 1) or not (y = 0) and may lie there now (x), the publication maximizes
//
//   Σ x · V − a · (y · (1 − x) · TC_out + (1 − y) · x · TC_in)
//
// V: access time saved from this phase on; TC: size over the bandwidth of the copy; a: 1 if the
// site lives already. There the user marks phases. Here, regions that are seen in turn are one
// phase, and those that end before others begin are phases of their own.
#include "advisor/strategies/seats.hpp"
#include "model/cost.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {
namespace {

constexpr std::size_t k_most_phases = 16; // effort; those behind belong to the last

struct Phase {
  std::uint64_t begin = 0, end = ~std::uint64_t{0}; // nanoseconds
  std::vector<std::size_t> regions;                 // that which begins it first
};

std::vector<Phase> phases_of(const Workload& workload) {
  const auto& regions = workload.regions;
  std::vector<std::size_t> order;
  for (std::size_t region = 1; region < regions.size(); ++region) // 0: outside of all
    if (regions[region].end > 0) order.push_back(region);
  std::ranges::stable_sort(order, {}, [&](std::size_t region) { return regions[region].begin; });
  std::vector<Phase> phases;
  std::uint64_t seen = 0; // the end of what the last phase holds
  for (const std::size_t region : order) {
    if (phases.empty()) {
      phases.emplace_back();
    } else if (const std::uint64_t begin = regions[region].begin; begin > seen) {
      phases.back().end = begin;
      phases.emplace_back().begin = begin;
    }
    phases.back().regions.push_back(region);
    seen = std::max(seen, regions[region].end);
  }
  if (phases.empty()) phases.emplace_back();
  for (; phases.size() > k_most_phases; phases.pop_back())
    phases[phases.size() - 2].end = phases.back().end;
  return phases;
}

bool lives_at(const SiteDemand& site, std::uint64_t time) {
  return std::ranges::any_of(site.live, [&](const LiveStretch& stretch) {
    return stretch.begin < time && time < stretch.end;
  });
}

bool lives_in(const SiteDemand& site, const Phase& phase) {
  return std::ranges::any_of(site.live, [&](const LiveStretch& stretch) {
    return stretch.begin < phase.end && phase.begin < stretch.end;
  });
}

double copy_time(std::uint64_t bytes, const TierChoice& from, const TierChoice& to) {
  return static_cast<double>(bytes) /
         std::min(from.figures.read_bandwidth, to.figures.write_bandwidth) * 1e9;
}

class ByPhase {
public:
  explicit ByPhase(const StrategyInput& input)
      : input_(input), phases_(phases_of(input.workload)),
        where_(input.workload.sites.size(), Placement::k_nowhere) {
    for (at_ = 0; at_ < phases_.size(); ++at_) {
      const std::vector<std::size_t> now =
          place_kind_by_kind(input, Lifetimes::ignored,
                             [&](std::size_t site, std::size_t tier) { return value(site, tier); });
      for (std::size_t site = 0; site < now.size(); ++site)
        if (const bool lives = lives_in(demand_of(site), phases_[at_]);
            lives || (at_ + 1 == phases_.size() && where_[site] == Placement::k_nowhere))
          go(site, now[site]);
    }
  }

  const std::vector<std::size_t>& home() const { return home_.empty() ? where_ : home_; }
  std::vector<RegionMove> moves() {
    for (RegionMove& move : moves_)
      move.saved = saved_by(move);
    return std::move(moves_);
  }

private:
  const SiteDemand& demand_of(std::size_t site) const { return input_.workload.sites[site]; }

  bool is_whole(const RegionDemand& in) const {
    return input_.workload.regions[in.region].is_whole();
  }

  // What regions of earlier phases access is over. The rest of the run belongs to no phase.
  Demand demand_from_now(const SiteDemand& site) const {
    Demand all = site.demand;
    double in_regions = 0;
    for (const RegionDemand& in : site.by_region)
      if (is_whole(in)) in_regions += in.demand.total();
    all *= std::max(0.0, 1 - (all.total() > 0 ? in_regions / all.total() : 0));
    for (const RegionDemand& in : site.by_region)
      if (is_whole(in) && input_.workload.regions[in.region].end >= phases_[at_].begin)
        all += in.demand;
    return all;
  }

  double value(std::size_t site, std::size_t tier) const {
    const SiteDemand& demand = demand_of(site);
    if (!lives_in(demand, phases_[at_])) return -1;
    const std::size_t before =
        at_ > 0 && lives_at(demand, phases_[at_].begin) ? where_[site] : Placement::k_nowhere;
    if (before != Placement::k_nowhere && demand.small_blocks) // they are never moved
      return before == tier ? HUGE_VAL : -1;
    const Counted counted = count(demand_from_now(demand), demand.cached);
    const double saved = access_time_h2m(counted, input_.tiers.back().figures) -
                         access_time_h2m(counted, input_.tiers[tier].figures);
    if (before == Placement::k_nowhere) return saved;
    const std::uint64_t bytes = demand.peak_bytes();
    return before == tier ? saved + copy_time(bytes, input_.tiers[tier], input_.tiers.back())
                          : saved - copy_time(bytes, input_.tiers[before], input_.tiers[tier]);
  }

  void go(std::size_t site, std::size_t tier) {
    const std::size_t before = where_[site];
    where_[site] = tier;
    if (home_.empty()) home_.assign(where_.size(), Placement::k_nowhere);
    if (before == Placement::k_nowhere) home_[site] = tier;
    if (before == Placement::k_nowhere || tier == Placement::k_nowhere || before == tier ||
        !demand_of(site).is_free() || demand_of(site).small_blocks)
      return;
    if (!lives_at(demand_of(site), phases_[at_].begin)) return; // it is allocated there
    moves_.push_back({phases_[at_].regions[0], site, tier, 0,
                      move_time(demand_of(site).peak_bytes(), input_.tiers[before].figures,
                                input_.tiers[tier].figures)});
  }

  // Against lying at home, under the advisor's model, until the site moves again.
  double saved_by(const RegionMove& move) const {
    const auto is_later = [&](const RegionMove& other) {
      return other.site == move.site && begin_of(other) > begin_of(move);
    };
    std::uint64_t until = ~std::uint64_t{0};
    for (const RegionMove& other : moves_)
      if (is_later(other)) until = std::min(until, begin_of(other));
    double saved = 0;
    for (const RegionDemand& in : demand_of(move.site).by_region) {
      const std::uint64_t begin = input_.workload.regions[in.region].begin;
      if (in.region == 0 || !is_whole(in) || begin < begin_of(move) || begin >= until) continue;
      const auto time_in = [&](std::size_t tier) {
        return demand_time(in.demand, input_.tiers[tier].figures, input_.workload.threads);
      };
      saved += time_in(home_[move.site]) - time_in(move.tier);
    }
    return saved;
  }
  std::uint64_t begin_of(const RegionMove& move) const {
    return input_.workload.regions[move.region].begin;
  }

  const StrategyInput& input_;
  std::vector<Phase> phases_;
  std::size_t at_ = 0;             // the phase that is decided
  std::vector<std::size_t> where_; // by site: where it lies
  std::vector<std::size_t> home_;  // by site: where it lay first
  std::vector<RegionMove> moves_;
};

} // namespace

std::vector<std::size_t> place_pbdp(const StrategyInput& input) {
  return ByPhase(input).home();
}

std::vector<RegionMove> moves_of_pbdp(const StrategyInput& input) {
  return ByPhase(input).moves();
}

} // namespace omptier
