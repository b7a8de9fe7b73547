// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From traits to demand and its cost.
#include "allocators/declared_demand.hpp"

#include "platform/usual_figures.hpp"

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

// A demand that takes 1 ns on the reference.
Demand unit_demand(const TraitSet& traits, const Figures& reference, Threads threads) {
  const double loads = share_of_loads(traits), part = streamed_part(traits);
  Demand unit;
  for (const bool streamed : {false, true}) {
    Demand one;
    one.of(streamed ? Manner::streamed_load : Manner::scattered_load) = loads;
    one.of(streamed ? Manner::streamed_store : Manner::scattered_store) = 1 - loads;
    unit += one *= (streamed ? part : 1 - part) / demand_time(one, reference, threads);
  }
  return unit;
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

Threads assumed_threads(std::span<const Tier> tiers) {
  const FigureEstimates estimates(tiers);
  Threads threads;
  for (const Tier& tier : tiers)
    threads.streamed = std::max(
        threads.streamed, threads_that_saturate(estimates.estimate(tier.kind, tier.figures)));
  return threads;
}

double weight_of(const TraitSet& traits, std::span<const Tier> tiers) {
  if (is_cold(traits)) return 0;
  if (traits.importance != k_default_value)
    return static_cast<double>(static_cast<OmpValue>(traits.importance));
  if (traits.access_frequency == k_default_value || tiers.empty()) return -1;
  const Threads threads = assumed_threads(tiers);
  const Demand unit = unit_demand(traits, reference_figures(tiers), threads);
  const double part = streamed_part(traits); // 1 ns of a thread is so much of all
  const double shared = part / threads.streamed + (1 - part) / threads.scattered;
  return static_cast<double>(static_cast<OmpValue>(traits.access_frequency)) * shared /
         unit.total() * 1e-9 * 1000;
}

std::array<double, k_most_choices> relative_times(const TraitSet& traits,
                                                  std::span<const Tier> tiers) {
  std::array<double, k_most_choices> times{};
  if (tiers.empty()) return times;
  const FigureEstimates estimates(tiers);
  const Threads threads = assumed_threads(tiers);
  const Demand unit = unit_demand(traits, reference_figures(tiers), threads);
  for (std::size_t i = 0; i < tiers.size() && i < times.size(); ++i)
    times[i] = demand_time(unit, estimates.estimate(tiers[i].kind, tiers[i].figures), threads);
  return times;
}

} // namespace omptier
