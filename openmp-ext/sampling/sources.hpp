// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens each source; source.cpp tries them in order.
#pragma once

#include "sampling/source.hpp"

namespace omptier {

// Each returns null if its source does not work here, with the reason in `why` (a few words).
std::unique_ptr<SampleSource> open_exact_source(std::string& why);
std::unique_ptr<SampleSource> open_machine_source(std::string& why);
std::unique_ptr<SampleSource> open_hardware_source(double rate, std::string& why);
std::unique_ptr<SampleSource> open_perf_source(double rate, std::string& why);
std::unique_ptr<SampleSource> open_timer_source(double rate, std::string& why);

// Largest difference between blamed and true share of time of one array of the reference kernels,
// where interrupts land right behind the stalled instruction: 32 points, for the stored array of a
// triad beside other load (table: validation/unit/sampling_accuracy.md). Time of concurrent streams
// is blamed on the one that the core happens to wait for; kernels without streams stay within 13
// points.
inline constexpr double k_blame_error = 0.35;

} // namespace omptier
