// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fast a loop runs whose pace was not measured (loop_rates.hpp), by what it accesses: an
// instruction takes its turn, a stream takes the time of the lines it moves, a scattered access the
// latency that other accesses leave uncovered, a pointer all of it. The costs are those of usual
// processors, so an expected speed is right within a factor of three only (k_speed_spread); without
// it a loop that waits a hundred nanoseconds for an access would be taken to access as much as one
// that sums an array.
#pragma once

#include "analysis/attribution.hpp"

#include <span>

namespace omptier {

// Standard deviation of the logarithm of the true speed over the expected one.
inline constexpr double k_speed_spread = 0.6;

// Bytes that a thread accesses in a nanosecond. loop: the patterns of one sample; sites: whose
// bytes tell which cache holds them. 0 = nothing is accessed.
double expected_speed(std::span<const PatternAt> loop, std::span<const SiteSummary> sites);

} // namespace omptier
