// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runs of `tune` say of the model for this program. A figure that was measured under a
// placement is taken as
//
//   figure  =  scale · time under the model, with the accesses of site s times exp(a_s), and the
//              work of all loops and beside them times exp(w)
//
// a and w are the most likely ones (Gauss-Newton): logarithms of figures vary as runs do, and by
// what the model cannot express; a and w were about 0 before, give or take k_open_accesses and
// k_open_work. The scale is free, so figures may be of any unit; all factors are then scaled so
// that times stay about what they were. What lay in one place in all runs keeps its part.
#pragma once

#include "advisor/placement.hpp"

#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace omptier {

inline constexpr double k_open_accesses = 0.7; // a factor of two, either way
inline constexpr double k_open_work = 0.4;     // a factor of 1.5
inline constexpr double k_most_learned = 8;    // factor, either way

struct MeasuredPlacement {
  std::vector<std::size_t> tier_of_site;
  std::vector<double> figures; // of the runs, in their order; smaller is better, above 0
};

struct Learned {
  std::map<std::size_t, double> accesses; // factor by site of the summary
  double others = 1;                      // of all other sites
  double work = 1;                        // factor
  std::size_t placements = 0, runs = 0;
  // Root mean squares of predicted against measured figures, as parts: without and with them.
  double error_before = 0, error_after = 0;

  bool changes_any() const { return !accesses.empty() || others != 1 || work != 1; }
};

// All factors are within the bounds, and errors are numbers.
bool is_usable(const Learned& learned);

// Changes nothing where there are less than two placements, where the model was right within the
// noise, and where no factors make it much better.
Learned learn(const Workload& workload, const std::vector<TierChoice>& tiers,
              std::span<const MeasuredPlacement> measured);

void correct(Workload& workload, const Learned& learned);

} // namespace omptier
