// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See toss_ups.hpp.
#include "advisor/toss_ups.hpp"

#include "advisor/needs.hpp"
#include "advisor/together.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <span>

namespace omptier {
namespace {

constexpr std::size_t k_most_weighed = 400; // sites, those with most bytes

// Half of the interval of the demand, over the demand.
double uncertainty(const SiteDemand& site) {
  return site.share > 0 ? (site.share_high - site.share_low) / 2 / site.share : 0;
}

class Weighing {
public:
  Weighing(const Workload& workload, const CostTable& costs, const std::vector<TierChoice>& tiers,
           const std::vector<std::size_t>& where)
      : workload_(workload), costs_(costs), where_(where), needs_(workload), either_(where.size()),
        held_(workload, tiers, where),
        worth_(k_worth_changing * (held_.times.time() + workload.rest)) {
    std::vector<std::uint64_t> capacity;
    for (const TierChoice& tier : tiers)
      capacity.push_back(tier.capacity);
    if (!room_.make(capacity, needs_.pieces())) throw std::bad_alloc();
    for (std::size_t site = 0; site < where.size(); ++site) {
      const SiteDemand& demand = workload.sites[site];
      if (where[site] == Placement::k_nowhere || !demand.placeable || !demand.by_plan) continue;
      room_.take(needs_.of(site), where[site]);
      if (demand.is_free()) weighed_.push_back(site);
    }
    std::ranges::stable_sort(weighed_, std::greater{},
                             [&](std::size_t site) { return needs_.of(site).bytes; });
    if (weighed_.size() > k_most_weighed) weighed_.resize(k_most_weighed);
  }

  std::vector<std::optional<std::size_t>> run(std::size_t tiers) {
    for (const std::size_t site : weighed_)
      for (std::size_t tier = 0; tier < tiers; ++tier)
        if (gain(site, tier) > 0) weigh(site, tier);
    return std::move(either_);
  }

private:
  double gain(std::size_t site, std::size_t tier) const {
    return costs_[site][where_[site]] - costs_[site][tier];
  }

  // Against each that is alive with it, and against those whose going loses least per byte, until
  // it has room.
  void weigh(std::size_t site, std::size_t tier) {
    const std::size_t from = where_[site];
    std::vector<std::size_t> inside;
    for (const std::size_t other : weighed_)
      if (where_[other] == tier && are_together(needs_.of(site), needs_.of(other)))
        inside.push_back(other);
    std::ranges::stable_sort(inside, {}, [&](std::size_t other) {
      return -gain(other, from) /
             static_cast<double>(std::max<std::uint64_t>(needs_.of(other).bytes, 1));
    });
    for (const std::size_t& other : inside)
      if (either_[site] && either_[other])
        continue;
      else if (needs_.of(site).bytes != needs_.of(other).bytes && is_larger_divisible(site, other))
        mark_if_open_in_parts(site, other);
      else
        mark_if_open(site, tier, {&other, 1});
    std::size_t count = 0;
    while (count < inside.size() && !room_.fits(needs_.of(site), tier))
      room_.give_back(needs_.of(inside[count++]), tier);
    inside.resize(count);
    for (const std::size_t other : inside)
      room_.take(needs_.of(other), tier);
    mark_if_open(site, tier, inside);
  }

  bool is_larger_divisible(std::size_t site, std::size_t other) const {
    const std::size_t larger = needs_.of(site).bytes > needs_.of(other).bytes ? site : other;
    return workload_.sites[larger].block_bytes > 0;
  }

  // As many bytes of each as the smaller one has.
  void mark_if_open_in_parts(std::size_t site, std::size_t other) {
    const std::size_t from = where_[site], tier = where_[other];
    const auto bytes = static_cast<double>(std::min(needs_.of(site).bytes, needs_.of(other).bytes));
    const double part = bytes / static_cast<double>(needs_.of(site).bytes);
    const double other_part = bytes / static_cast<double>(needs_.of(other).bytes);
    const double cost = -gain(site, tier) * part - gain(other, from) * other_part;
    const double squares =
        square_of(site, tier) * part * part + square_of(other, from) * other_part * other_part;
    if (std::abs(cost) >= std::sqrt(squares)) return;
    const auto slope = [&](std::size_t of, std::size_t to, std::size_t away) {
      return held_.times.slope(of, to) - held_.times.slope(of, away);
    };
    const double change = slope(site, tier, from) * part + slope(other, from, tier) * other_part;
    if (change < worth_) mark(site, tier, {&other, 1});
  }

  // Whether all of them may change places.
  void mark_if_open(std::size_t site, std::size_t tier, std::span<const std::size_t> leaving) {
    const std::size_t from = where_[site];
    double cost = -gain(site, tier), squares = square_of(site, tier);
    for (const std::size_t other : leaving) {
      cost -= gain(other, from);
      squares += square_of(other, from);
    }
    // Far below 0 the placement has another reason: loops that access several of these.
    if (leaving.empty() || std::abs(cost) >= std::sqrt(squares) ||
        change_by(site, tier, leaving) >= worth_)
      return;
    for (const std::size_t other : leaving)
      room_.give_back(needs_.of(other), tier);
    const bool fits = room_.fits(needs_.of(site), tier) && fit_instead(leaving, site);
    for (const std::size_t other : leaving)
      room_.take(needs_.of(other), tier);
    if (fits) mark(site, tier, leaving);
  }

  void mark(std::size_t site, std::size_t tier, std::span<const std::size_t> leaving) {
    either_[site] = either_[site].value_or(tier);
    for (const std::size_t other : leaving)
      either_[other] = either_[other].value_or(where_[site]);
  }
  // Of the time, the loops' included.
  double change_by(std::size_t site, std::size_t tier, std::span<const std::size_t> leaving) {
    const std::size_t from = where_[site];
    double change = held_.times.change(site, tier);
    held_.times.move(site, tier);
    for (const std::size_t other : leaving) {
      change += held_.times.change(other, from);
      held_.times.move(other, from);
    }
    held_.times.move(site, from);
    for (const std::size_t other : leaving)
      held_.times.move(other, tier);
    return change;
  }
  // Whether these have room in the site's tier when it leaves.
  bool fit_instead(std::span<const std::size_t> others, std::size_t site) {
    const std::size_t tier = where_[site];
    room_.give_back(needs_.of(site), tier);
    std::size_t taken = 0;
    while (taken < others.size() && room_.fits(needs_.of(others[taken]), tier))
      room_.take(needs_.of(others[taken++]), tier);
    for (std::size_t at = 0; at < taken; ++at)
      room_.give_back(needs_.of(others[at]), tier);
    room_.take(needs_.of(site), tier);
    return taken == others.size();
  }
  double square_of(std::size_t site, std::size_t tier) const {
    const double half = gain(site, tier) * uncertainty(workload_.sites[site]);
    return half * half;
  }

  const Workload& workload_;
  const CostTable& costs_;
  const std::vector<std::size_t>& where_;
  Needs needs_;
  Room room_;
  std::vector<std::size_t> weighed_; // sites, the largest first
  std::vector<std::optional<std::size_t>> either_;
  PlacementTimes held_;
  double worth_; // nanoseconds
};

} // namespace

std::vector<std::optional<std::size_t>> toss_ups(const Workload& workload, const CostTable& costs,
                                                 const std::vector<TierChoice>& tiers,
                                                 const std::vector<std::size_t>& tier_of_site) {
  if (tiers.size() < 2) return std::vector<std::optional<std::size_t>>(tier_of_site.size());
  return Weighing(workload, costs, tiers, tier_of_site).run(tiers.size());
}

} // namespace omptier
