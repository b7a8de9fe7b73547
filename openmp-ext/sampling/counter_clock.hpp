// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts the processor's counter (x86: time-stamp counter; ARM: generic timer) to CLOCK_MONOTONIC
// nanoseconds, from a pair of readings at the start and one at each drain: the rate becomes more
// exact the longer the run lasts.
#pragma once

#include "base/os.hpp"

#include <cstdint>

namespace omptier {

inline std::uint64_t counter_now() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;
#endif
}

class CounterClock {
public:
  void start(double ticks_per_second) {
    first_ = last_ = read_pair();
    nanoseconds_per_tick_ = 1e9 / ticks_per_second;
  }
  void advance() {
    last_ = read_pair();
    if (last_.time - first_.time > 100'000'000)
      nanoseconds_per_tick_ = static_cast<double>(last_.time - first_.time) /
                              static_cast<double>(last_.counter - first_.counter);
  }
  std::uint64_t time_of(std::uint64_t counter) const {
    auto ticks = static_cast<double>(static_cast<std::int64_t>(counter - last_.counter));
    return last_.time +
           static_cast<std::uint64_t>(static_cast<std::int64_t>(ticks * nanoseconds_per_tick_));
  }

private:
  struct Pair {
    std::uint64_t counter = 0, time = 0;
  };
  // The closest pair of a few tries, since the thread may be descheduled between two readings.
  static Pair read_pair() {
    Pair best;
    std::uint64_t width = ~std::uint64_t{0};
    for (int i = 0; i < 8; ++i) {
      std::uint64_t before = counter_now(), time = monotonic_nanoseconds(), after = counter_now();
      if (after - before >= width) continue;
      width = after - before;
      best = {before + width / 2, time};
    }
    return best;
  }
  Pair first_, last_;
  double nanoseconds_per_tick_ = 1;
};

} // namespace omptier
