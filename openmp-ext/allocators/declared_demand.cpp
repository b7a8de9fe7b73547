// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See declared_demand.hpp.
#include "allocators/declared_demand.hpp"

#include "platform/usual_figures.hpp"

#include <algorithm>

namespace omptier {
namespace {

double share_of_loads(const TraitSet& traits) {
  const OmpValue mode = traits.access_mode;
  return mode == value::read_only      ? 1
         : mode == value::read_mostly  ? 0.9
         : mode == value::write_mostly ? 0.1
         : mode == value::write_only   ? 0
                                       : 0.5;
}

} // namespace

double streamed_part(const TraitSet& traits) {
  const OmpValue sensitivity = traits.sensitivity, pattern = traits.access_pattern;
  if (sensitivity == value::latency) return 0;
  if (sensitivity == value::bandwidth) return 1;
  if (sensitivity == value::both) return 0.5;
  if (pattern == value::random || pattern == value::pointer_chase) return 0;
  if (pattern == value::strided)
    return traits.access_stride > std::size_t{k_prefetched_stride} ? 0 : 1;
  return pattern == value::sequential || pattern == value::tiled ? 1 : 0.5;
}

DeclaredPrices::DeclaredPrices(std::span<const Tier> tiers) {
  const FigureEstimates estimates(tiers);
  for (const Tier& tier : tiers.first(std::min(tiers.size(), figures_.size()))) {
    figures_[count_] = estimates.estimate(tier.kind, tier.figures);
    threads_.streamed = std::max(threads_.streamed, threads_that_saturate(figures_[count_++]));
  }
  if (count_ != 0) reference_ = figures_[reference_tier(tiers.first(count_))];
}

// A demand whose accesses take 1 ns on the reference.
Demand DeclaredPrices::unit_demand(const TraitSet& traits) const {
  const double loads = share_of_loads(traits), part = streamed_part(traits);
  Demand unit;
  for (const bool streamed : {false, true}) {
    Demand one;
    one.of(streamed ? Manner::streamed_load : Manner::scattered_load) = loads;
    one.of(streamed ? Manner::streamed_store : Manner::scattered_store) = 1 - loads;
    unit += one *= (streamed ? part : 1 - part) / demand_time(one, reference_, threads_);
  }
  return unit;
}

double DeclaredPrices::weight_of(const TraitSet& traits) const {
  if (is_cold(traits)) return 0;
  if (traits.importance != k_default_value)
    return static_cast<double>(static_cast<OmpValue>(traits.importance));
  if (traits.access_frequency == k_default_value || count_ == 0) return -1;
  const double part = streamed_part(traits); // 1 ns of a thread is so much of all
  const double shared = part / threads_.streamed + (1 - part) / threads_.scattered;
  return static_cast<double>(static_cast<OmpValue>(traits.access_frequency)) * shared /
         unit_demand(traits).total() * 1e-9 * 1000;
}

std::array<double, k_most_choices> DeclaredPrices::relative_times(const TraitSet& traits) const {
  std::array<double, k_most_choices> times{};
  const Demand unit = unit_demand(traits);
  for (std::size_t tier = 0; tier < count_; ++tier)
    times[tier] = demand_time(unit, figures_[tier], threads_);
  return times;
}

} // namespace omptier
