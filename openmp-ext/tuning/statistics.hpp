// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether one placement of a program is faster than another, from few runs of each. Figures are
// compared by their logarithms: noise and gains are parts of the time. Few runs do not tell how
// much runs vary, so the runs of all placements tell it together, beside a first guess.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace omptier {

// The first guess at how much one run differs from another, worth two runs more.
inline constexpr double k_guessed_noise = 0.01; // part of the time
inline constexpr double k_guess_counts = 2;     // degrees of freedom

struct Noise {
  double deviation = k_guessed_noise; // of the logarithm of one run
  double freedom = k_guess_counts;
};

// runs: logarithms of the figures, of each placement in the order of its runs. Only neighbours are
// compared, so that a machine which slowly gets faster or slower does not count as noise.
Noise noise_of(std::span<const std::vector<double>> runs);

// The longest run of one placement, if it took so much longer than the others there (of at least
// three) that something else held the program up: another job, a stopped process. left_out: such
// runs of the placement before, no longer among these; one in four is the most.
std::optional<std::size_t> held_up_run(std::span<const std::vector<double>> runs,
                                       std::size_t placement, unsigned left_out);

// Of Student's distribution, two-sided; freedom from 1 up.
double quantile_95(double freedom);
double quantile_99(double freedom);

// How many times as long one placement takes as another.
struct TimesAsLong {
  double value = 1, low = 1, high = 1; // 95 %
  unsigned runs = 0;                   // of the first; 0: not measured
};

struct Difference {
  double logarithm = 0; // of the means: negative where the first is faster
  double error = 0;     // its standard deviation

  TimesAsLong times_as_long(const Noise& noise, unsigned runs) const;
};

// Neither is empty.
Difference difference(std::span<const double> first, std::span<const double> second,
                      const Noise& noise);

// Largest over smallest, less 1: 0.5 = the runs vary by 50 %. 0 for less than two.
double spread_of(std::span<const double> logarithms);

} // namespace omptier
