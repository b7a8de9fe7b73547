// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns a block's traits into a demand, which the cost model prices (model/cost.hpp).
//
//   time on a tier = weight · time there of accesses that take 1 on the reference (DRAM)
//   weight         = importance (per mille of memory time); else access_frequency · time of one
//                    access, divided among its threads; else unknown: the caller distributes what
//                    the other blocks leave
//   accesses       by access_mode: share of loads is 1 (read_only), 0.9 (read_mostly), 0.5
//                  (read_write, not given), 0.1 (write_mostly), 0 (write_only)
//     scattered    by one thread at a time, which waits for the latency
//     streamed     by as many threads as use up the bandwidth of every tier
//     both         half of the time each
//
// sensitivity decides which, else access_pattern: random, pointer_chase and strides too long for
// prefetching are scattered; sequential, tiled and shorter strides are streamed; without either,
// both. Figures that the firmware does not give are estimated (platform/usual_figures.hpp).
#pragma once

#include "model/cost.hpp"
#include "model/solver.hpp"
#include "traits/trait_set.hpp"

#include <array>
#include <span>

namespace omptier {

// Share of the block's memory time that depends on bandwidth: 1 streamed, 0.5 both, 0 scattered.
double streamed_part(const TraitSet& traits);
inline bool is_scattered(const TraitSet& traits) { // mostly called for traits that give neither
  const bool given = (OmpValue{traits.sensitivity} | OmpValue{traits.access_pattern}) != 0;
  return given && streamed_part(traits) == 0;
}

// Whether the traits make the block's place irrelevant: sensitivity none, importance 0 or
// access_frequency 0. Such blocks go to the slowest memory with room.
inline bool is_cold(const TraitSet& traits) {
  return traits.sensitivity == value::none || traits.importance == 0 ||
         traits.access_frequency == 0;
}

// Prices of declared uses on a machine's tiers (k_most_choices at most), made once per decision.
class DeclaredPrices {
public:
  explicit DeclaredPrices(std::span<const Tier> tiers);
  // Weight in per mille of memory time; negative = not given by the traits.
  double weight_of(const TraitSet& traits) const;
  // Time on each tier relative to DRAM, else to the first tier.
  std::array<double, k_most_choices> relative_times(const TraitSet& traits) const;
  // For a block that does not say how many threads use it.
  Threads threads() const { return threads_; }

private:
  Demand unit_demand(const TraitSet& traits) const;

  std::size_t count_ = 0;
  std::array<Figures, k_most_choices> figures_; // by tier, estimated where unknown
  Figures reference_;
  Threads threads_;
};

} // namespace omptier
