// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Does a timer interrupt land right behind the instruction that stalls? On real processors it does
// (92–99.8 % of samples); under emulation it lands at the head of a translation block, and blame
// would be noise. A short pointer chase, where exactly one instruction stalls, tells.
#pragma once

#include "emulation/registers.hpp"

#include <cstdint>
#include <functional>
#include <unistd.h>
#include <vector>

namespace omptier {

struct Skid {
  unsigned samples = 0;   // that hit the chase at all
  unsigned next = 0;      // … on the instruction behind its load
  double cpu_seconds = 0; // spent on finding out

  bool known() const { return samples >= 4; }
  bool sharp() const { return known() && next * 4 >= samples * 3; }
  // The share is two standard errors (of a share of 3/4) off 3/4: 4 samples elsewhere, or 12 that agree.
  bool decided() const {
    const double off = 4.0 * next - 3.0 * samples;
    return known() && off * off >= 12.0 * samples;
  }
};

// Runs the chase on the calling thread, in slices of a quarter of a millisecond, and calls collect
// after each, until its samples decide, or `most` of them did not, or `seconds` of CPU time are
// spent. Nothing known (no sample) on architectures that are not decoded.
Skid measure_skid(unsigned most, double seconds,
                  const std::function<std::vector<RegisterSample>()>& collect);

// What the parent found out holds for its forked children, which may live shorter than the trial.
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

// Judges samples of the chase; other code is left out. For measure_skid and its test.
void judge_skid(const std::vector<RegisterSample>& samples, Skid& skid);

// Addresses of the chase's first instruction (the load), the one behind it, and its end.
struct ChaseCode {
  std::uint64_t load = 0, next = 0, end = 0;
};
ChaseCode chase_code();

} // namespace omptier
