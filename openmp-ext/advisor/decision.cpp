// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See decision.hpp.
#include "advisor/decision.hpp"

#include "advisor/curve.hpp"
#include "advisor/explain.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {
namespace {

constexpr double k_near = 1.02;                                 // of two capacities: near enough
constexpr std::uint64_t k_least_step = std::uint64_t{64} << 10; // bytes
constexpr double k_most_important = 64;                         // factor, either way
constexpr double k_near_factor = 1.05;

class Deciding {
public:
  Deciding(const Workload& workload, const std::vector<TierChoice>& tiers, std::size_t site)
      : workload_(workload), tiers_(tiers), site_(site) {}

  Decision run() {
    Decision made{
        advise(workload_, tiers_, nullptr, Effort::quick), site_, {}, 0, {}, {}, {}, {}, {}};
    made.parts = parts_by_tier(made.advice, site_).parts;
    home_ = made.home = home(made.advice);
    for (std::size_t tier = 0; tier < tiers_.size(); ++tier)
      made.in_tier.push_back(made.parts[tier] > k_all_of_it ? InTier{}
                                                            : with_all_in(tier, made.advice));
    for (std::size_t tier = 0; tier < tiers_.size(); ++tier)
      if (const InTier& in = made.in_tier[tier];
          tier != home_ && in.has_room &&
          (!made.runner_up || in.price.value < made.in_tier[*made.runner_up].price.value))
        made.runner_up = tier;
    find_capacities(made);
    find_importance(made);
    return made;
  }

private:
  std::size_t home(const Advice& advice) const {
    const std::vector<double> parts = parts_by_tier(advice, site_).parts;
    const auto most = std::ranges::max_element(parts);
    return *most > 0 ? static_cast<std::size_t>(most - parts.begin()) : Placement::k_nowhere;
  }

  InTier with_all_in(std::size_t tier, const Advice& advice) const {
    Workload kept = workload_;
    for (SiteDemand& demand : kept.sites)
      if (demand.site == site_ && demand.placeable && demand.by_plan) demand.kept = tier;
    const Advice other = advise(std::move(kept), tiers_, nullptr, Effort::quick);
    for (std::size_t at = 0; at < other.workload.sites.size(); ++at)
      if (other.workload.sites[at].kept && other.placement.tier_of_site[at] == Placement::k_nowhere)
        return {false, {}};
    return {true, price_from_samples(advice, other)};
  }

  std::size_t home_with(std::size_t tier, std::uint64_t capacity) const {
    std::vector<TierChoice> tiers = tiers_;
    tiers[tier].capacity = capacity;
    return home(advise(workload_, std::move(tiers), nullptr, Effort::quick));
  }

  // Between a capacity with which the site stays and one with which it does not.
  OtherCapacity bound(std::size_t tier, std::uint64_t stays, std::uint64_t goes,
                      std::size_t goes_to) const {
    for (;;) {
      const std::uint64_t low = std::min(stays, goes), high = std::max(stays, goes);
      const std::uint64_t middle = shown_size(low + (high - low) / 2);
      if (double(high) <= k_near * double(low) || high - low <= k_least_step || middle >= high)
        return {tier, goes, goes_to, stays};
      const std::size_t there = home_with(tier, middle);
      if (there == home_)
        stays = middle;
      else
        goes = middle, goes_to = there;
    }
  }

  void find_capacities(Decision& made) const {
    const std::uint64_t all = shown_size(all_peaks(workload_) + k_least_step);
    for (std::size_t tier = 0; tier < tiers_.size(); ++tier) {
      const std::uint64_t now = tiers_[tier].capacity;
      if (tier != home_ && now < all) {
        const std::size_t there = home_with(tier, all);
        if (there == home_)
          made.never.push_back(tier);
        else
          made.capacities.push_back(bound(tier, now, all, there));
      }
      // What lies in the slowest kind lies there for want of room elsewhere.
      if (tier == home_ && tier + 1 < tiers_.size()) {
        const std::uint64_t most = std::min(now, all);
        if (const std::size_t there = home_with(tier, 0); there != home_)
          made.capacities.push_back(bound(tier, most, 0, there));
      }
    }
  }

  // Upwards in the hope of something faster, else downwards.
  void find_importance(Decision& made) const {
    const auto home_by = [&](double factor) {
      return home(advise(with_demand(workload_, site_, factor), tiers_, nullptr, Effort::quick));
    };
    for (const double end : {k_most_important, 1 / k_most_important}) {
      std::size_t goes_to = home_by(end);
      if (goes_to == home_) continue;
      double stays = 1, goes = end;
      while (std::max(stays / goes, goes / stays) > k_near_factor) {
        const double middle = std::sqrt(stays * goes);
        const std::size_t there = home_by(middle);
        if (there == home_)
          stays = middle;
        else
          goes = middle, goes_to = there;
      }
      made.importance = OtherImportance{goes, goes_to};
      return;
    }
  }

  const Workload& workload_;
  const std::vector<TierChoice>& tiers_;
  std::size_t site_, home_ = 0;
};

} // namespace

Decision decide_about(const Workload& workload, const std::vector<TierChoice>& tiers,
                      std::size_t site) {
  return Deciding(workload, tiers, site).run();
}

} // namespace omptier
