// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the traits of a block say of its use, as a demand that the cost model prices on each tier
// (model/cost.hpp).
//
//   time on a tier = weight · time there of accesses that take 1 on the reference (DRAM)
//   weight         = importance (per mille of memory time); else access_frequency · time of one
//                    access, as its threads share it; else nothing is known, and the caller shares
//                    out what others leave
//   accesses       by access_mode: loads are 1 of them (read_only), 0.9 (read_mostly), 0.5
//                  (read_write, nothing said), 0.1 (write_mostly), 0 (write_only)
//     scattered    by one thread at a time, which waits for the latency
//     streamed     by as many threads as use up the bandwidth of every tier
//     both         half of the time each
//
// sensitivity says which, else access_pattern: random, pointer_chase and strides beyond what is
// prefetched are scattered, sequential, tiled and shorter strides are streamed, nothing said is
// both. Figures that the firmware does not give are estimated (platform/usual_figures.hpp).
#pragma once

#include "model/cost.hpp"
#include "model/solver.hpp"
#include "traits/trait_set.hpp"

#include <array>
#include <span>

namespace omptier {

// Threads that are assumed to use blocks of whose threads nothing is known.
Threads assumed_threads(std::span<const Tier> tiers);

// Weight in per mille of memory time; negative = the traits do not say.
double weight_of(const TraitSet& traits, std::span<const Tier> tiers);

// Of the block's memory time, what goes by bandwidth: 1 streamed, 0.5 both, 0 scattered.
double streamed_part(const TraitSet& traits);
inline bool is_scattered(const TraitSet& traits) { // mostly asked of traits that say neither
  const bool says = (OmpValue{traits.sensitivity} | OmpValue{traits.access_pattern}) != 0;
  return says && streamed_part(traits) == 0;
}

// The traits say that it does not matter where the block lies: sensitivity none, importance 0 or
// access_frequency 0. Such blocks go to the slowest memory with room.
inline bool is_cold(const TraitSet& traits) {
  return traits.sensitivity == value::none || traits.importance == 0 ||
         traits.access_frequency == 0;
}

// Time on each tier over the time on DRAM (on the first tier where there is no DRAM); at most
// k_most_choices tiers.
std::array<double, k_most_choices> relative_times(const TraitSet& traits,
                                                  std::span<const Tier> tiers);

} // namespace omptier
