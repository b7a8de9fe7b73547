// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From pairs of samples in one run of a loop (emulation/loop_pace.hpp) to the bytes that the loop
// accesses in a nanosecond.
//
// A pair whose counter went back lay in two runs. One whose counter went forth may, too, if the
// loop began again in between: then it went less far than the time would allow, half as far at
// most. Where gaps of all sizes come, such pairs disagree with each other and with those of shorter
// gaps, and as many go back. So gaps are taken up to the longest at which most pairs go forth at
// one rate; a loop whose runs are shorter than the gaps has none, and no rate.
//
// Gaps are of CPU time, samples of user code only: where a loop keeps the kernel busy (first touch
// of its pages) gaps are longer than a sample stands for, and as much faster is its user code.
// Where runs hold too few samples for their mean gap to tell that time from others', it was not
// theirs if of many gaps none is so long that a clock must have come in the kernel; else there is
// no rate.
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
  // A sample in the loop that makes no pair.
  void add_alone() { ++alone_; }
  // Nothing: too few pairs, or runs are too short. sample: nanoseconds that one stands for, 0 =
  // unknown.
  std::optional<LoopRate> rate(double sample = 0) const;

private:
  std::vector<std::pair<double, double>> pairs_;
  std::size_t alone_ = 0;
};

} // namespace omptier
