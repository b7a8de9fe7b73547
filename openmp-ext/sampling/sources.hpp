// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The members of the family, each opened on its own; source.cpp tries them in order.
#pragma once

#include "sampling/source.hpp"

namespace omptier {

// Each returns null where its source does not work here, with the reason in `why` (a few words).
std::unique_ptr<SampleSource> open_exact_source(std::string& why);
std::unique_ptr<SampleSource> open_machine_source(std::string& why);
std::unique_ptr<SampleSource> open_hardware_source(double rate, std::string& why);
std::unique_ptr<SampleSource> open_perf_source(double rate, std::string& why);
std::unique_ptr<SampleSource> open_timer_source(double rate, std::string& why);

// Largest difference between blamed and true share of time that one array of the reference kernels
// showed where interrupts land sharply: 32 points, for the stored array of a triad beside other
// load (the table is in validation/unit/sampling_accuracy.md). Time of streams that run side by
// side is blamed on whichever the core waits for; kernels without streams stay within 13.
inline constexpr double k_blame_error = 0.35;

} // namespace omptier
