// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From pairs of samples in one run of a loop (emulation/loop_pace.hpp) to the bytes that the loop
// accesses in a nanosecond. A pair whose counter went back belongs to two runs. One whose counter
// advanced may, too, if the loop restarted in between: then by at most half of what the time
// allows, so such pairs disagree with each other and with pairs of shorter gaps. Hence gaps are
// taken up to the longest at which most pairs advance at one rate; if runs are shorter, there is no
// rate.
//
// Gaps are CPU time, samples are of user code only. If a loop keeps the kernel busy (first touch of
// its pages), gaps are longer than the time a sample stands for, and its user code is faster by
// that factor. If runs hold too few samples to tell whether that kernel time was theirs, it is
// taken to be others' if none of many gaps is long enough to lack a sample; else there is no rate.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace omptier {

struct LoopRate {
  double value = 0;          // bytes per nanosecond of user code
  double relative_error = 0; // half of the 95 % interval, of the value
  std::uint64_t pairs = 0;   // that it rests on
};

class LoopRuns {
public:
  // nanoseconds > 0; bytes < 0: two runs.
  void add(double nanoseconds, double bytes) { pairs_.emplace_back(nanoseconds, bytes); }
  void add_alone() { ++alone_; }
  // Nothing if pairs are too few or runs too short. sample: nanoseconds of a sample, 0 = unknown.
  std::optional<LoopRate> rate(double sample = 0) const;

private:
  std::vector<std::pair<double, double>> pairs_;
  std::size_t alone_ = 0;
};

} // namespace omptier
