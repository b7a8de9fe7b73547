// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times of something that is done again and again. The difference of two means counts as sure
// beyond k_sure times its noise, which is never below a part of the mean.
#pragma once

#include <algorithm>

namespace omptier {

inline constexpr double k_sure = 2;
inline constexpr double k_least_noise = 0.005;

struct Times {
  double sum = 0, squares = 0;
  unsigned count = 0;

  void add(double time) {
    sum += time;
    squares += time * time;
    ++count;
  }
  // Older times count half from now on.
  void age() {
    const unsigned left = count / 2;
    if (count > 0) sum *= double(left) / count, squares *= double(left) / count;
    count = left;
  }
  // Of at least one.
  double mean() const { return sum / count; }
  double variance() const { return std::max(0.0, squares / count - mean() * mean()); }
};

} // namespace omptier
