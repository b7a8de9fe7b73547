// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From traits to demand, and what it costs.
#include "allocators/declared_demand.hpp"

#include "platform/usual_figures.hpp"

namespace omptier {
namespace {

double share_of_reads(const TraitSet& traits) {
  switch (static_cast<OmpValue>(traits.access_mode)) {
  case value::read_only:
    return 1;
  case value::read_mostly:
    return 0.9;
  case value::write_mostly:
    return 0.1;
  case value::write_only:
    return 0;
  default:
    return 0.5;
  }
}

// One access in the middle, as the mode mixes loads and stores.
Demand one_access(const TraitSet& traits, bool streamed) {
  const double loads = share_of_reads(traits);
  Demand one;
  one.of(streamed ? Manner::streamed_load : Manner::scattered_load) = loads;
  one.of(streamed ? Manner::streamed_store : Manner::scattered_store) = 1 - loads;
  return one;
}

// Accesses that take 1 ns on the reference.
Demand unit_demand(const TraitSet& traits, const Figures& reference, Threads threads) {
  const double part = streamed_part(traits);
  Demand unit;
  for (const bool streamed : {false, true}) {
    Demand one = one_access(traits, streamed);
    one *= (streamed ? part : 1 - part) / demand_time(one, reference, threads);
    unit += one;
  }
  return unit;
}

} // namespace

double streamed_part(const TraitSet& traits) {
  switch (static_cast<OmpValue>(traits.sensitivity)) {
  case value::latency:
    return 0;
  case value::bandwidth:
    return 1;
  case value::both:
    return 0.5;
  default:
    break;
  }
  switch (static_cast<OmpValue>(traits.access_pattern)) {
  case value::random:
  case value::pointer_chase:
    return 0;
  case value::strided:
    return traits.access_stride > std::size_t{k_prefetched_stride} ? 0 : 1;
  case value::sequential:
  case value::tiled:
    return 1;
  default:
    return 0.5;
  }
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
  const bool streamed = streamed_part(traits) == 1;
  const double time =
      demand_time(one_access(traits, streamed), reference_figures(tiers), threads) /
      (streamed ? threads.streamed : threads.scattered);
  return static_cast<double>(static_cast<OmpValue>(traits.access_frequency)) * time * 1e-9 * 1000;
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
