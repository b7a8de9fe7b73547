// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From workload and costs to the solver's problem, and back.
#include "advisor/placement.hpp"

#include "advisor/needs.hpp"
#include "model/cost.hpp"
#include "model/first_touch.hpp"
#include "model/solver.hpp"
#include "platform/usual_figures.hpp"

#include <algorithm>
#include <new>

namespace omptier {
namespace {

constexpr double k_demanded = 1e6; // times the loss of being nowhere: more than all time

// What no plan reaches lies in the reference tier, or in a slower one.
Candidate candidate_of(const SiteDemand& site, const Need& need, const std::vector<double>& costs,
                       std::size_t reference, double loss) {
  Candidate candidate;
  static_cast<Need&>(candidate) = need;
  candidate.loss = loss;
  candidate.late = !site.by_plan;
  for (std::size_t tier = 0; tier < costs.size(); ++tier) {
    if (site.by_plan || tier >= reference) candidate.allowed |= std::uint32_t{1} << tier;
    candidate.gain[tier] = time_saved(costs, tier);
  }
  if (site.kept) { // gains nothing by that: it leaves only for other kept sites
    candidate.mandatory = true;
    candidate.allowed = std::uint32_t{1} << *site.kept;
    candidate.loss *= k_demanded;
  }
  return candidate;
}

double time_in_reference(const std::vector<TierChoice>& tiers, const CostTable& costs) {
  double time = 0;
  for (const auto& row : costs)
    if (!row.empty()) time += row[reference_tier(tiers)];
  return time;
}

} // namespace

std::vector<TierChoice> usable_tiers(const Platform& platform, const CapacityByKind& limits) {
  const FigureEstimates estimates(platform.tiers);
  std::vector<TierChoice> choices;
  for (const Tier& tier : platform.tiers) {
    if (tier.kind == MemoryKind::unknown) continue;
    const auto same = std::ranges::find(choices, tier.kind, &TierChoice::kind);
    const bool reuses = tier.nodes.size() < 2;
    if (same != choices.end()) {
      same->capacity += tier.capacity;
      same->reuses = same->reuses && reuses;
    } else {
      choices.push_back({tier.kind, tier.capacity, estimates.estimate(tier.kind, tier.figures),
                         !are_known(tier.figures), reuses});
    }
  }
  for (TierChoice& choice : choices)
    if (const auto& limit = limits[static_cast<std::size_t>(choice.kind)])
      choice.capacity = std::min(choice.capacity, *limit);
  std::erase_if(choices, [](const TierChoice& choice) { return choice.capacity == 0; });
  return choices;
}

std::vector<Figures> figures_of(const std::vector<TierChoice>& tiers) {
  std::vector<Figures> figures;
  for (const TierChoice& tier : tiers)
    figures.push_back(tier.figures);
  return figures;
}

CostTable cost_table(const Workload& workload, const std::vector<TierChoice>& tiers,
                     std::optional<std::size_t> region) {
  CostTable costs;
  for (const SiteDemand& site : workload.sites) {
    const Demand demand = region ? site.demand_in(*region) : site.demand;
    auto& row = costs.emplace_back();
    for (const TierChoice& tier : tiers)
      row.push_back(demand_time(demand, tier.figures, workload.threads) +
                    (region ? 0 : first_touch_time(site, tier, workload.threads)));
  }
  return costs;
}

double first_touch_time(const SiteDemand& site, const TierChoice& tier, Threads threads) {
  const double bytes = tier.reuses ? site.new_pages.reused : site.new_pages.always;
  return demand_time(first_touch_demand(bytes), tier.figures, threads);
}

std::vector<double> first_touch_times(const SiteDemand& site, const std::vector<TierChoice>& tiers,
                                      Threads threads) {
  std::vector<double> times;
  for (const TierChoice& tier : tiers)
    times.push_back(first_touch_time(site, tier, threads));
  return times;
}

double time_saved(const std::vector<double>& costs, std::size_t tier) {
  return *std::ranges::max_element(costs) - costs[tier];
}

Placement place_by_density(const Workload& workload, const std::vector<TierChoice>& tiers,
                           const CostTable& costs) {
  const Needs needs(workload);
  const double loss = k_loss_of_nowhere * time_in_reference(tiers, costs);
  std::vector<Candidate> candidates;
  for (std::size_t site = 0; site < workload.sites.size(); ++site)
    candidates.push_back(candidate_of(workload.sites[site], needs.of(site), costs[site],
                                      reference_tier(tiers), loss));
  std::vector<std::uint64_t> capacity;
  for (const TierChoice& tier : tiers)
    capacity.push_back(tier.capacity);

  std::vector<std::uint8_t> chosen(candidates.size());
  if (!choose_set({candidates, capacity, needs.pieces()}, DecisionOrder::density, chosen))
    throw std::bad_alloc();
  Placement placement;
  for (std::size_t site = 0; site < chosen.size(); ++site) {
    const std::uint8_t tier = chosen[site];
    placement.tier_of_site.push_back(tier == k_nowhere ? Placement::k_nowhere : tier);
    if (tier != k_nowhere) placement.saved += time_saved(costs[site], tier);
  }
  return placement;
}

} // namespace omptier
