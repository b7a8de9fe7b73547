// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fast a loop runs whose pace was not measured (loop_rates.hpp), from what it accesses: every
// instruction costs its turn, a stream the time of the lines it moves, a scattered access the
// latency that other accesses do not hide, a followed pointer its full latency. The costs are those
// of usual processors, so an expected speed is right only within a factor of three
// (k_speed_spread), and less where accesses are scattered over more than a cache holds: those of a
// sparse matrix's rows are neighbours, those of a hash table are not. Without an expected speed, a
// loop that waits a hundred nanoseconds for each access would count as many accesses as one that
// sums an array.
#pragma once

#include "analysis/attribution.hpp"

#include <span>

namespace omptier {

// Standard deviation of the logarithm of the true speed over the expected one, if nothing is
// scattered.
inline constexpr double k_speed_spread = 0.6;

struct ExpectedSpeed {
  double value = 0; // bytes that a thread accesses in a nanosecond; 0 = nothing is accessed
  double spread = k_speed_spread;
};

// loop: the patterns of one sample; sites: their bytes tell which cache holds them.
ExpectedSpeed expected_speed(std::span<const PatternAt> loop, std::span<const SiteSummary> sites);

} // namespace omptier
