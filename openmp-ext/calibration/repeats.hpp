// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How often a quantity is measured, and what its repeats say. The value is their median; its 95 %
// interval lies between two of them in order, whatever the noise is like: as many lie below the
// true median as a tossed coin shows heads. So a few disturbed repeats do no harm, and on a busy
// machine the interval is wide.
#pragma once

#include <vector>

namespace omptier {

inline constexpr unsigned k_least_repeats = 6; // fewer have no 95 % interval
inline constexpr unsigned k_most_repeats = 24; // on a noisy machine

struct Median {
  double value = 0, low = 0, high = 0;
};
// values: at least k_least_repeats; with fewer, the interval is from the least to the largest, and
// of less than 95 %.
Median median_of(std::vector<double> values);

// Enough, or as many as there will be. Asked of 6, 12 and 24 values only: whoever looks after each
// of them and ends when they happen to lie close together finds intervals that are too narrow.
bool is_settled(const std::vector<double>& values);

} // namespace omptier
