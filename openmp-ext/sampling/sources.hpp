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

// Largest error of a blamed share: 37 points, a triad's stored array
// (validation/unit/sampling_accuracy.md); kernels without streams stay within 17.
inline constexpr double k_blame_error = 0.4;

} // namespace omptier
