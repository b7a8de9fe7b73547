// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the traits of a block say about each tier: how much of the program's memory time (per mille)
// is saved by the block lying there, against the tier that suits it least.
//
//   time on a tier = weight · cost(tier) / cost(DRAM)
//   weight         = importance (per mille); else access_frequency · cost(DRAM), the time of one
//                    thread; else nothing is known, and the caller shares out what others leave
//   cost           of one access that misses the caches, r being the share of reads by access_mode
//                    (read_only 1, read_mostly 0.9, read_write 0.5, write_mostly 0.1, write_only
//                    0):
//     scattered      r · read latency + (1 − r) · write latency
//     streamed       64 B · (r / read bandwidth + (1 − r) · (1 / read + 1 / write bandwidth)),
//                    since a store reads its line first
//     both           mean of the two, each over its value for DRAM
//
// sensitivity says which, else access_pattern: random, pointer_chase and strides of a page or more
// are scattered (a prefetcher stops at a page's end), sequential, tiled and shorter strides are
// streamed, nothing said is both. Figures that the firmware does not give are estimated
// (platform/usual_figures.hpp).
#pragma once

#include "platform/platform.hpp"
#include "traits/trait_set.hpp"

#include <array>
#include <span>

namespace omptier {

inline constexpr std::size_t k_most_gain_tiers = 16;

// Weight in per mille of memory time; negative = the traits do not say.
double weight_of(const TraitSet& traits, std::span<const Tier> tiers);

// The traits say that it does not matter where the block lies: sensitivity none, importance 0 or
// access_frequency 0. Such blocks go to the slowest memory with room.
bool is_cold(const TraitSet& traits);

// Time on each tier over the time on DRAM (on the first tier where there is no DRAM); at most
// k_most_gain_tiers tiers.
std::array<double, k_most_gain_tiers> relative_times(const TraitSet& traits,
                                                     std::span<const Tier> tiers);

} // namespace omptier
