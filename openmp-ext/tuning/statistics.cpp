// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See statistics.hpp.
#include "tuning/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace omptier {
namespace {

// A quantile for 1 to 10 degrees of freedom; beyond, it nears the normal distribution's as
// 1/freedom.
double quantile(const std::array<double, 10>& few, double normal, double slope, double freedom) {
  if (freedom >= 11) return normal + slope / freedom;
  const auto at = static_cast<std::size_t>(std::clamp(freedom, 1.0, 10.0));
  return few[at - 1];
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

} // namespace

std::optional<std::size_t> held_up_run(std::span<const std::vector<double>> runs,
                                       std::size_t placement, unsigned left_out) {
  constexpr double k_too_long = 6; // deviations
  const std::vector<double>& own = runs[placement];
  if (own.empty() || 4 * (left_out + 1) > own.size() + left_out) return {};
  const auto longest = std::ranges::max_element(own);
  std::vector<std::vector<double>> others(runs.begin(), runs.end());
  std::vector<double>& rest = others[placement];
  rest.erase(rest.begin() + (longest - own.begin()));
  if (*longest - std::ranges::max(rest) < k_too_long * noise_of(others).deviation) return {};
  return static_cast<std::size_t>(longest - own.begin());
}

double quantile_95(double freedom) {
  return quantile({12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23}, 1.96, 2.6,
                  freedom);
}

double quantile_99(double freedom) {
  return quantile({63.66, 9.92, 5.84, 4.60, 4.03, 3.71, 3.50, 3.36, 3.25, 3.17}, 2.576, 5.9,
                  freedom);
}

Noise noise_of(std::span<const std::vector<double>> runs) {
  double squares = k_guess_counts * k_guessed_noise * k_guessed_noise;
  double freedom = k_guess_counts;
  for (const std::vector<double>& one : runs)
    for (std::size_t at = 1; at < one.size(); ++at) {
      const double step = one[at] - one[at - 1]; // of two runs: twice the square of one's deviation
      squares += step * step / 2;
      freedom += 1;
    }
  return {std::sqrt(squares / freedom), freedom};
}

Difference difference(std::span<const double> first, std::span<const double> second,
                      const Noise& noise) {
  const double runs =
      1 / static_cast<double>(first.size()) + 1 / static_cast<double>(second.size());
  return {mean_of(first) - mean_of(second), noise.deviation * std::sqrt(runs)};
}

TimesAsLong Difference::times_as_long(const Noise& noise, unsigned runs) const {
  const double half = quantile_95(noise.freedom) * error;
  return {std::exp(logarithm), std::exp(logarithm - half), std::exp(logarithm + half), runs};
}

double spread_of(std::span<const double> logarithms) {
  if (logarithms.size() < 2) return 0;
  const auto [low, high] = std::ranges::minmax(logarithms);
  return std::exp(high - low) - 1;
}

} // namespace omptier
