// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Carries out one task: memory is taken and made present, one slice warms up, and slices of time
// are repeated until the noise is known and small, or repeats are used up.
#pragma once

#include "calibration/measurement.hpp"
#include "calibration/task_list.hpp"

#include <functional>

namespace omptier {

struct MeasureOptions {
  double slice = 0.02;     // seconds of a repeat, at least
  double most_slice = 0.4; // and at most, where threads do not come to k_least_work in it
  unsigned most_repeats = 24;
  std::function<bool()> is_stopped = [] { return false; }; // asked between repeats
};

// A result without a value has a problem, or was stopped ("").
Result measure(const Task& task, const CpuGroup& group, const MeasureOptions& options);

// Processors that this process may run on, ascending.
std::vector<unsigned> allowed_processors();

} // namespace omptier
