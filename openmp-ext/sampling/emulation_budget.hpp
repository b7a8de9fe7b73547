// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits the cost of emulating loops. Emulation needs the program's memory as it was when the
// sample was taken, so it cannot wait for the program's end; but not every sample needs it. 10 ms
// of CPU time are free, for the loops that are new at the start; from then on a fixed part of a
// processor. Samples beyond that are thinned (base/random_thinning.hpp). A sampling rate above the
// usual one raises the limit in proportion.
#pragma once

#include "base/random_thinning.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace omptier {

class EmulationBudget {
public:
  static constexpr double k_part = 0.003;                                // of a processor
  static constexpr std::uint64_t k_at_first = 10'000'000, k_most = 4096; // nanoseconds; one of

  // times: multiple of the usual rate.
  explicit EmulationBudget(std::uint64_t now, double times = 1)
      : times_(std::max(times, 1.0)), begin_(now), last_(now) {
    samples_.start(now);
  }

  // What the next sample's emulation counts for; 0: it is left out.
  std::uint64_t weight_of_next() {
    ++offered_;
    return samples_.weight_of_next();
  }
  // CPU time, and of how many emulations; 0: for work that cannot be left out.
  void spend(std::uint64_t nanoseconds, unsigned emulations) {
    spent_ += nanoseconds;
    emulated_ += emulations;
  }

  // now: nanoseconds of the clock that it began with. Thins so that samples at the same rate and
  // cost as before use the part, and a rest or debt is used up within a second.
  void update(std::uint64_t now) {
    const double passed = static_cast<double>(now - begin_);
    if (now - last_ < k_least_between || emulated_ == 0) return;
    const double came = static_cast<double>(offered_ - offered_before_);
    const double rate = came / static_cast<double>(now - last_);
    rate_ = last_ == begin_ ? rate : rate_ + k_newest * (rate - rate_);
    last_ = now;
    offered_before_ = offered_;
    const double part = k_part * times_;
    const double left = k_at_first * times_ + part * passed - static_cast<double>(spent_);
    const double may = std::max(part + left / k_second, part / 4);
    const double each = static_cast<double>(spent_) / static_cast<double>(emulated_);
    const double of = std::clamp(rate_ * each / may, 1.0, static_cast<double>(k_most));
    samples_.keep_one_of(static_cast<std::uint64_t>(std::llround(of)));
  }
  std::uint64_t kept_of() const { return samples_.kept_of(); }

private:
  static constexpr std::uint64_t k_least_between = 20'000'000;
  static constexpr double k_second = 1e9, k_newest = 0.1; // of an exponential mean

  RandomThinning samples_;
  double times_;
  std::uint64_t begin_, last_;
  std::uint64_t offered_ = 0, offered_before_ = 0, emulated_ = 0, spent_ = 0;
  double rate_ = 0; // offered samples a nanosecond
};

} // namespace omptier
