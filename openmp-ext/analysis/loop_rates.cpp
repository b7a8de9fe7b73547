// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See loop_rates.hpp.
#include "analysis/loop_rates.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace omptier {
namespace {

constexpr std::size_t k_least_pairs = 6;
constexpr double k_like = 1.35; // factor from the usual rate, up or down, of pairs that agree
constexpr std::size_t k_may_disagree = 10; // one in so many of the pairs whose counter went forth
constexpr double k_back = 0.5;             // of all pairs may lie in two runs
constexpr double k_shorter = 0.8;          // the next limit that is tried, of the one before
constexpr std::size_t k_many_pairs = 20;
constexpr double k_hardly_back = 0.1;  // where gaps are as long as runs, two in five go back
constexpr double k_usual_error = 0.05; // an interrupt's own time, iterations that differ
constexpr double k_stretched = 1.15;   // gaps, at the least, of what a sample stands for
constexpr double k_samples_of_run = 3; // fewer: mean gaps cannot tell whose the kernel's time is
constexpr double k_least_of_run = 1.8; // fewer: no long gap would fit into a run
constexpr double k_longest_gap = 1.8;  // of a sample: one of the two clocks has more than half
constexpr double k_fastest = 1e5;      // bytes a nanosecond: no thread accesses more
constexpr double k_unseen_error = 0.3; // the kernel had more of the runs in one of a hundred cases

// 95 %, two-sided, of Student's distribution.
double t_quantile(std::size_t freedom) {
  static constexpr std::array k_small = {12.7, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26};
  if (freedom == 0) return k_small[0];
  return freedom <= k_small.size() ? k_small[freedom - 1] : 1.96 + 2.6 / double(freedom);
}

using Pairs = std::vector<std::pair<double, double>>;

// Of the pairs with gaps up to a limit, those that agree; empty if too many do not.
Pairs in_one_run(const Pairs& pairs, double limit) {
  Pairs forth;
  double back = 0;
  for (const auto& pair : pairs) {
    if (pair.first > limit) continue;
    if (pair.second < 0)
      ++back;
    else
      forth.push_back(pair);
  }
  const std::size_t count = forth.size();
  if (count < k_least_pairs || back > k_back * (back + double(count))) return {};
  if (count >= k_many_pairs && back <= k_hardly_back * (back + double(count)))
    return forth; // no run ended, so all are right, however they differ
  const auto rate = [](const auto& pair) { return pair.second / pair.first; };
  const auto middle = forth.begin() + static_cast<std::ptrdiff_t>(forth.size() / 2);
  std::ranges::nth_element(forth, middle, {}, rate);
  const double usual = rate(*middle);
  std::erase_if(forth, [&](const auto& pair) {
    return rate(pair) > usual * k_like || rate(pair) * k_like < usual;
  });
  return forth.size() >= std::max(k_least_pairs, count - count / k_may_disagree) ? forth : Pairs();
}

// A mean with half of its 95 % interval.
struct Mean {
  double value = 0, error = 0;
};

Mean mean_gap(const Pairs& pairs) {
  const auto n = static_cast<double>(pairs.size());
  double sum = 0, squares = 0;
  for (const auto& pair : pairs)
    sum += pair.first;
  for (const auto& pair : pairs)
    squares += (pair.first - sum / n) * (pair.first - sum / n);
  return {sum / n, t_quantile(pairs.size() - 1) * std::sqrt(squares / (n - 1) / n)};
}

bool is_stretched(const Mean& gap, double sample) {
  return sample > 0 && gap.value - gap.error > k_stretched * sample;
}

// By how much user code is faster than the clock says; nothing where that cannot be told. Between
// runs the kernel may have worked for others. Then only gaps within runs count, if they are many;
// they give a little less than all, because no gap contains a run's ends.
std::optional<Mean> stretch_of(const Pairs& all, std::size_t alone, const Pairs& good,
                               double sample) {
  if (!is_stretched(mean_gap(all), sample)) return Mean{1, 0};
  const auto seen = static_cast<double>(all.size() + alone);
  const double samples = seen / (seen - static_cast<double>(good.size()) + 1); // in a run
  if (samples < k_samples_of_run) {
    // Long gaps hardly fit into runs; if the kernel's time were the runs', some gap would lack a
    // sample.
    const bool lost = std::ranges::any_of(
        good, [sample](const auto& pair) { return pair.first > k_longest_gap * sample; });
    if (lost || samples < k_least_of_run || good.size() < k_many_pairs) return {};
    return Mean{1, k_unseen_error};
  }
  const Mean gap = mean_gap(good);
  if (!is_stretched(gap, sample)) return Mean{1, 0};
  return Mean{gap.value / sample * (samples + 1) / samples,
              std::hypot(gap.error / gap.value, 1 / (samples + 1))};
}

} // namespace

std::optional<LoopRate> LoopRuns::rate(double sample) const {
  double shortest = 0, longest = 0;
  for (const auto& [gap, accessed] : pairs_) {
    shortest = shortest == 0 ? gap : std::min(shortest, gap);
    longest = std::max(longest, gap);
  }
  Pairs good;
  for (double limit = longest; good.empty() && limit > 0 && limit >= shortest; limit *= k_shorter)
    good = in_one_run(pairs_, limit);
  double bytes = 0, nanoseconds = 0, squares = 0;
  for (const auto& [gap, accessed] : good) {
    nanoseconds += gap;
    bytes += accessed;
  }
  if (!(bytes > 0) || !(nanoseconds > 0)) return {};
  const double value = bytes / nanoseconds;
  for (const auto& [gap, accessed] : good)
    squares += (accessed - value * gap) * (accessed - value * gap);
  const auto n = static_cast<double>(good.size());
  const double error =
      t_quantile(good.size() - 1) * std::sqrt(squares * n / (n - 1)) / nanoseconds / value;
  const auto stretch = stretch_of(pairs_, alone_, good, sample);
  if (!stretch || value * stretch->value > k_fastest) return {};
  return LoopRate{value * stretch->value, std::hypot(error, stretch->error, k_usual_error),
                  good.size()};
}

} // namespace omptier
