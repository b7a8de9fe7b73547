// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See advised_groups.hpp.
#include "tuning/advised_groups.hpp"

#include "advisor/needs.hpp"
#include "advisor/site_blocks.hpp"
#include "advisor/site_ranges.hpp"
#include "advisor/together.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <new>
#include <utility>

namespace omptier {
namespace {

using Places = std::vector<std::pair<std::uint64_t, std::uint64_t>>; // module, offset

SiteIdentity identity_of(const SiteSummary& site, const ProfileSummary& summary) {
  if (site.kind == SiteKind::variable) return {site.symbol, {{site.frames[0].module, 0}}};
  Places places;
  for (const Frame& frame : frames_of_runtime(site, summary.modules))
    places.emplace_back(frame.module, frame.offset);
  return {{}, std::move(places)};
}

Places places_of(const std::vector<PlanFrame>& frames) {
  Places places;
  for (const PlanFrame& frame : frames)
    places.emplace_back(frame.module, frame.offset);
  return places;
}

SiteIdentity identity_of(const PlanEntry& entry) {
  if (!entry.symbol.empty()) return {entry.symbol, {{entry.symbol_module, 0}}};
  return {{}, places_of(entry.frames)};
}

} // namespace

AdvisedGroups::AdvisedGroups(const Advice& advice, const ProfileSummary& summary, std::size_t most)
    : advice_(advice), summary_(summary) {
  find_groups();
  keep_the_largest(most);
}

void AdvisedGroups::find_groups() {
  std::map<SiteIdentity, std::size_t> known;
  for (std::size_t at = 0; at < advice_.workload.sites.size(); ++at) {
    const SiteDemand& demand = advice_.workload.sites[at];
    if (!demand.is_free()) continue;
    const SiteIdentity identity = identity_of(summary_.sites[demand.site], summary_);
    const auto [found, is_new] = known.try_emplace(identity, groups_.size());
    const std::size_t tier = advice_.placement.tier_of_site[at];
    const std::size_t advised = tier < advice_.tiers.size() ? tier : k_as_advised;
    if (is_new) groups_.push_back({{demand.label, advised}, identity, {}});
    Group& group = groups_[found->second];
    group.demands.push_back(at);
    if (group.shown.advised != advised) group.shown.advised = k_as_advised;
    group.shown.is_unsure = group.shown.is_unsure || other_tier(advice_, at).has_value();
  }
}

void AdvisedGroups::keep_the_largest(std::size_t most) {
  const Trial as_advised = problem().advised();
  const double advised = predicted(as_advised);
  for (std::size_t group = 0; group < groups_.size(); ++group)
    for (std::size_t tier = 0; tier < advice_.tiers.size(); ++tier) {
      Trial trial = as_advised;
      trial.kinds[group] = tier;
      groups_[group].effect = std::max(groups_[group].effect, std::abs(predicted(trial) - advised));
    }
  std::ranges::stable_sort(groups_, std::ranges::greater{}, &Group::effect);
  left_out_ = groups_.size() - std::min(groups_.size(), most);
  groups_.resize(groups_.size() - left_out_);
}

TuningProblem AdvisedGroups::problem() const {
  TuningProblem problem;
  for (const Group& group : groups_)
    problem.groups.push_back(group.shown);
  for (const TierChoice& tier : advice_.tiers)
    problem.kinds.emplace_back(title_of(tier.kind));
  problem.has_rest = left_out_ > 0;
  problem.has_room = [this](const Trial& trial) { return has_room(trial); };
  problem.predicted = [this](const Trial& trial) { return predicted(trial); };
  return problem;
}

std::vector<std::size_t> AdvisedGroups::tiers_of(const Trial& trial) const {
  std::vector<std::size_t> tiers = advice_.placement.tier_of_site;
  if (trial.rest_is_slow)
    for (std::size_t at = 0; at < tiers.size(); ++at)
      if (advice_.workload.sites[at].is_free()) tiers[at] = advice_.tiers.size() - 1;
  for (std::size_t group = 0; group < trial.kinds.size(); ++group)
    for (const std::size_t at : groups_[group].demands)
      tiers[at] = trial.kinds[group] == k_as_advised ? advice_.placement.tier_of_site[at]
                                                     : trial.kinds[group];
  return tiers;
}

// Sites that no plan reaches take what room there is, as in the advice.
bool AdvisedGroups::has_room(const Trial& trial) const {
  const std::vector<std::size_t> tiers = tiers_of(trial);
  const Needs needs(advice_.workload);
  std::vector<std::uint64_t> capacity;
  for (const TierChoice& tier : advice_.tiers)
    capacity.push_back(tier.capacity);
  Room room;
  if (!room.make(capacity, needs.pieces())) throw std::bad_alloc();
  for (std::size_t at = 0; at < tiers.size(); ++at) {
    const SiteDemand& demand = advice_.workload.sites[at];
    if (!demand.placeable || !demand.by_plan || tiers[at] >= advice_.tiers.size()) continue;
    if (!room.fits(needs.of(at), tiers[at])) return false;
    room.take(needs.of(at), tiers[at]);
  }
  return true;
}

double AdvisedGroups::predicted(const Trial& trial) const {
  return predicted_time(advice_.workload, advice_.tiers, tiers_of(trial)) + advice_.workload.rest;
}

std::size_t AdvisedGroups::group_of(const SiteIdentity& identity) const {
  return static_cast<std::size_t>(std::ranges::find(groups_, identity, &Group::identity) -
                                  groups_.begin());
}

Plan AdvisedGroups::plan(const Trial& trial,
                         const std::function<PortableFrame(const Frame&)>& portable,
                         const std::function<std::string(std::size_t group)>& reason) const {
  const Trial advised = problem().advised();
  Advice changed = advice_;
  if (trial != advised) {
    auto& tier_of_site = changed.placement.tier_of_site = tiers_of(trial);
    join_ranges(changed.workload, tier_of_site);
    join_blocks(changed.workload, tier_of_site);
    changed.costs = cost_table(changed.workload, changed.tiers);
    changed.moves = moves_that_pay(changed.workload, changed.tiers, changed.placement);
    std::erase_if(changed.moves, [&](const RegionMove& move) {
      const SiteDemand& demand = changed.workload.sites[move.site];
      const std::size_t group = group_of(identity_of(summary_.sites[demand.site], summary_));
      return trial.rest_is_slow ||
             (group < groups_.size() && trial.kinds[group] != advised.kinds[group]);
    });
    changed.either.clear();
    changed.time = predicted(trial);
    changed.gain_of_moves = 0;
  }
  Plan plan = plan_from(changed, summary_, portable);
  for (PlanEntry& entry : plan.entries)
    if (const std::size_t group = group_of(identity_of(entry));
        reason && group < groups_.size() && entry.region.empty())
      if (std::string text = reason(group); !text.empty()) entry.reason = std::move(text);
  return plan;
}

} // namespace omptier
