// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a timer interrupt lands right behind the stalled instruction. On real processors it does
// (92–99.8 % of samples). Under emulation it lands at the head of a translation block, which makes
// blame noise. A short pointer chase, in which exactly one instruction stalls, measures it.
#pragma once

#include "emulation/registers.hpp"

#include <cstdint>
#include <functional>
#include <unistd.h>
#include <vector>

namespace omptier {

struct Skid {
  unsigned samples = 0;   // within the chase
  unsigned next = 0;      // of these, on the instruction behind its load
  double cpu_seconds = 0; // spent on measuring

  bool known() const { return samples >= 4; }
  bool sharp() const { return known() && next * 4 >= samples * 3; }
  // The share is two standard errors (of a share of 3/4) away from 3/4: 4 samples that land
  // elsewhere, or 12 that land behind the load.
  bool decided() const {
    const double off = 4.0 * next - 3.0 * samples;
    return known() && off * off >= 12.0 * samples;
  }
};

// Runs the chase on the calling thread in slices of an eighth of a millisecond, and calls collect
// after each, until the samples decide, `most` samples have not decided, or `seconds` of CPU time
// are spent. No samples on architectures that are not decoded.
Skid measure_skid(unsigned most, double seconds,
                  const std::function<std::vector<RegisterSample>()>& collect);

// The parent's result, for forked children, which may not live long enough to measure.
class FamilySkid {
public:
  template <typename Measure> Skid get(Measure&& measure) {
    if (!skid_.known() || measured_in_ == getpid()) {
      skid_ = measure();
      measured_in_ = getpid();
    }
    return skid_;
  }

private:
  Skid skid_;
  pid_t measured_in_ = 0;
};

// For measure_skid and its test.
void judge_skid(const std::vector<RegisterSample>& samples, Skid& skid);

// Addresses of the chase's first instruction (the load), the one behind it, and its end.
struct ChaseCode {
  std::uint64_t load = 0, next = 0, end = 0;
};
ChaseCode chase_code();

} // namespace omptier
