// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See repeats.hpp.
#include "calibration/repeats.hpp"

#include "calibration/measurement.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {
namespace {

// How many values to leave out at each end: the most with which at least 95 % of all tosses of so
// many coins stay between.
std::size_t outside(std::size_t count) {
  double left_out = 0, ways = 1; // of 2^count
  const double all = std::ldexp(1.0, static_cast<int>(count));
  for (std::size_t k = 0; k < count; ++k) {
    left_out += 2 * ways / all;
    if (left_out > 0.05) return k > 0 ? k - 1 : 0;
    ways *= static_cast<double>(count - k) / static_cast<double>(k + 1);
  }
  return 0;
}

} // namespace

Median median_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const std::size_t count = values.size();
  const double middle = (values[(count - 1) / 2] + values[count / 2]) / 2;
  const std::size_t cut = outside(count);
  return {middle, values[cut], values[count - 1 - cut]};
}

bool is_settled(const std::vector<double>& values) {
  if (values.size() >= k_most_repeats) return true;
  if (values.size() != k_least_repeats && values.size() != 2 * k_least_repeats) return false;
  const Median median = median_of(values);
  return median.high - median.low <= k_most_spread / 2 * median.value;
}

} // namespace omptier
