// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run as a sequence of visits to parallel regions, in which what repeats is folded into rounds:
// "fill once, then 50 times work_on_a and work_on_b". Profiles hold the visits in which a sample
// fell, and how many there were and how long they took in all. So a round may lack visits, a third
// at most, and entries and times are those seen, scaled to all of the region. Where too few visits
// were seen, nothing is folded. Where memory was moved for a region, the times of its visits with
// that memory in place and away say what moving saved. What was moved at barriers counts for the
// visit, but where memory lay then differs within it.
#pragma once

#include "analysis/aggregate.hpp"

#include <cstdint>
#include <vector>

namespace omptier {

struct Spread { // of times, in nanoseconds
  std::uint64_t count = 0;
  double sum = 0, squares = 0;

  void add(double time) {
    ++count;
    sum += time;
    squares += time * time;
  }
  double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
  double deviation() const; // of one
};

struct TimelineStep { // the same visit of each round
  std::uint32_t region = 0;
  Spread seen;                  // moves are before visits
  double entries = 0, time = 0; // with those that were not seen; nanoseconds
  Spread in_place, away;        // of those seen, if memory was ever moved for the region
  std::uint64_t moves = 0, bytes = 0;
  std::uint64_t at_barriers = 0; // of the moves
  double moving = 0;             // nanoseconds
};

struct TimelinePart {
  std::uint64_t begin = 0, end = 0, rounds = 1;
  std::vector<TimelineStep> steps;
};

struct Timeline {
  std::vector<TimelinePart> parts;
  // Part of the entries that was seen, of the regions shown.
  double seen = 1;
  bool is_folded = true;             // else `parts` are regions in the order of their first visits
  double shortest_visit = 0;         // mean, of a region shown; nanoseconds
  std::vector<std::uint32_t> unseen; // large regions without a visit in the profile
  // Regions that take less than k_least_region of the run, and are left out.
  std::uint64_t small_regions = 0;
  double in_small_regions = 0; // nanoseconds
};

inline constexpr double k_least_region = 0.005;
inline constexpr double k_enough_seen = 0.6;       // of the entries of each region, to fold
inline constexpr std::size_t k_longest_round = 32; // visits

Timeline timeline_of(const ProfileSummary& summary);

} // namespace omptier
