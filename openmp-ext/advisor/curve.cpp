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

std::uint64_t bytes_of(const Advice& advice, std::size_t site) {
  std::uint64_t bytes = 0;
  for (const SiteDemand& demand : advice.workload.sites)
    if (demand.site == site) bytes += demand.peak_bytes();
  return bytes;
}

} // namespace

double part_in(const Advice& advice, std::size_t site, std::size_t tier) {
  std::uint64_t there = 0;
  for (std::size_t at = 0; at < advice.workload.sites.size(); ++at)
    if (advice.workload.sites[at].site == site && advice.placement.tier_of_site[at] == tier)
      there += advice.workload.sites[at].peak_bytes();
  const std::uint64_t all = bytes_of(advice, site);
  return all > 0 ? static_cast<double>(there) / static_cast<double>(all) : 0;
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
    Arrival one{demand.label, demand.site, part_in(before, demand.site, tier_),
                part_in(now, demand.site, tier_), bytes_of(now, demand.site)};
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
