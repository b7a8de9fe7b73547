// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See curve.hpp.
#include "advisor/curve.hpp"

#include "advisor/together.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace omptier {
namespace {

constexpr double k_known = 1.02;         // of two capacities: near enough
constexpr double k_least_arrived = 0.05; // of a site's bytes

} // namespace

PartsByTier parts_by_tier(const Workload& workload, const std::vector<std::size_t>& tier_of_site,
                          std::size_t tiers, std::size_t site) {
  PartsByTier made{0, std::vector<double>(tiers)};
  for (std::size_t at = 0; at < workload.sites.size(); ++at) {
    if (workload.sites[at].site != site) continue;
    const std::uint64_t bytes = workload.sites[at].peak_bytes();
    made.bytes += bytes;
    if (tier_of_site[at] < tiers) made.parts[tier_of_site[at]] += static_cast<double>(bytes);
  }
  for (double& part : made.parts)
    part /= std::max(static_cast<double>(made.bytes), 1.0);
  return made;
}

PartsByTier parts_by_tier(const Advice& advice, std::size_t site) {
  return parts_by_tier(advice.workload, advice.placement.tier_of_site, advice.tiers.size(), site);
}

CapacityCurve::CapacityCurve(Workload workload, std::vector<TierChoice> tiers, std::size_t tier)
    : workload_(std::move(workload)), tiers_(std::move(tiers)), tier_(tier) {
  const std::vector<std::size_t> slow(workload_.sites.size(), tiers_.size() - 1);
  slowest_ = predicted_time(workload_, tiers_, slow) + workload_.rest;
}

void CapacityCurve::add(std::uint64_t capacity) {
  if (points_.contains(capacity)) return;
  std::vector<TierChoice> tiers = tiers_;
  tiers[tier_].capacity = capacity;
  points_.emplace(capacity, advise(workload_, std::move(tiers), nullptr, Effort::quick));
  keep_better();
}

void CapacityCurve::keep_better() {
  const Advice* before = nullptr;
  for (auto& [capacity, advice] : points_) {
    if (before && advice.time_with_moves() > before->time_with_moves()) {
      advice = *before;
      advice.tiers[tier_].capacity = capacity;
    }
    before = &advice;
  }
}

std::optional<std::uint64_t> CapacityCurve::enough(double part, std::uint64_t least) {
  if (points_.size() < 2) return {};
  const double most = points_.begin()->second.time_with_moves();
  const auto saved = [&](const Advice& advice) { return most - advice.time_with_moves(); };
  for (;;) {
    const double wanted = part * saved(points_.rbegin()->second);
    if (!(wanted >= part * k_worth_changing * most)) return {};
    const auto reached = std::ranges::find_if(
        points_, [&](const auto& point) { return saved(point.second) >= wanted; });
    if (reached == points_.begin() || reached->first <= least)
      return std::max(reached->first, least);
    const std::uint64_t high = reached->first, low = std::prev(reached)->first;
    const std::uint64_t middle = shown_size(low + (high - low) / 2);
    if (double(high) <= k_known * double(low) || middle >= high) return high;
    add(middle);
  }
}

std::vector<Arrival> CapacityCurve::arrivals(std::uint64_t smaller, std::uint64_t capacity) const {
  std::vector<Arrival> found;
  const Advice &before = points_.at(smaller), &now = points_.at(capacity);
  for (const SiteDemand& demand : workload_.sites) {
    if (std::ranges::find(found, demand.site, &Arrival::site) != found.end()) continue;
    const PartsByTier after = parts_by_tier(now, demand.site);
    Arrival one{demand.label, demand.site, parts_by_tier(before, demand.site).parts[tier_],
                after.parts[tier_], after.bytes};
    if (std::abs(one.now - one.before) >= k_least_arrived) found.push_back(std::move(one));
  }
  std::ranges::stable_sort(found, std::greater{}, [](const Arrival& one) {
    return std::abs(one.now - one.before) * static_cast<double>(one.bytes);
  });
  return found;
}

std::string size_option(std::uint64_t bytes) {
  std::string text = format_size(bytes); // "95.3 MiB"
  const std::size_t unit = text.find(' ');
  const std::string digits = text.substr(0, unit);
  return text[unit + 1] == 'B' ? digits : digits + text[unit + 1];
}

std::uint64_t shown_size(std::uint64_t bytes) {
  // The last of three digits is at most a hundredth.
  for (std::uint64_t tried = bytes;; tried += bytes / 1024 + 1)
    if (const std::uint64_t shown = *parse_size(size_option(tried)); shown >= bytes) return shown;
}

} // namespace omptier
