// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 95 % intervals of shares of sampled weight. Samples near each other in time are alike (the
// program is in the same loop), so single samples must not be redrawn: the run is cut into blocks
// of time, and blocks are redrawn within short stretches of consecutive blocks. Only there, because
// a program that does one thing first and another later is no uncertainty of the sampling. Few
// samples do not show their own spread: the interval also covers Wilson's for the effective number
// of samples, so that a site never sampled has an upper bound, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace omptier {

inline constexpr double k_deviations = 1.959963985; // standard ones, either way, that hold 95 %

struct Interval {
  double low = 0, high = 0;
};

struct WeightedSample {
  std::uint32_t group = 0; // which share it counts for; < groups
  float weight = 1;
};

// runs: the samples of each run in order of time. Returns one interval for each group's share of
// all weight; [0, 1] when there is no sample. Deterministic.
std::vector<Interval> share_intervals(std::span<const std::vector<WeightedSample>> runs,
                                      std::size_t groups);

// Wilson's 95 % interval of a proportion seen in an effective number of samples.
Interval wilson_interval(double share, double effective_samples);

} // namespace omptier
