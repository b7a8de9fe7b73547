// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The members of the family, each opened on its own; source.cpp tries them in order.
#pragma once

#include "sampling/source.hpp"

namespace omptier {

// Each returns null where its source does not work here, with the reason in `why` (a few words).
std::unique_ptr<SampleSource> open_machine_source(std::string& why);
std::unique_ptr<SampleSource> open_perf_source(double rate, std::string& why);
std::unique_ptr<SampleSource> open_timer_source(double rate, std::string& why);

// Largest difference between blamed and true share of time that one array of the reference kernels
// showed where interrupts land sharply: 18 points, for a stencil's output (the table is in
// validation/unit/sampling_accuracy.md). Kernels without streamed stores stay within 11.
inline constexpr double k_blame_error = 0.2;

} // namespace omptier
