// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Carries out tasks: memory is taken and made present, one slice warms up, and slices of time
// are repeated until the noise is known and small, or repeats are used up (repeats.hpp).
#pragma once

#include "calibration/measurement.hpp"
#include "calibration/task_list.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace omptier {

struct MeasureOptions {
  double slice = 0.02;     // seconds of a repeat, at least
  double most_slice = 0.4; // and at most, where threads do not come to k_least_work in it
  unsigned most_repeats = 24;
  std::function<bool()> is_stopped = [] { return false; }; // asked between repeats
};

// Keeps threads and memory from one task to the next that uses the same: making memory present
// takes longer than measuring it.
class Measurements {
public:
  explicit Measurements(MeasureOptions options);
  ~Measurements();

  // A result without a value has a problem, or was stopped ("").
  Result measure(const Task& task, const CpuGroup& group);

private:
  class Bench;
  MeasureOptions options_;
  std::unique_ptr<Bench> bench_;
};

} // namespace omptier
