// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one look of `omptier run --online` leaves to the next, in a file beside the process's
// profile: what was moved, from where, and how long parallel regions took before.
#pragma once

#include "base/kind.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace omptier {

// Files of a recorded process.
struct OnlineFiles {
  std::string profile;
  std::string state() const { return profile + ".state"; }
  std::string plan() const { return profile + ".plan"; }
};

struct RegionPace { // of a parallel region, since the start
  std::uint64_t entries = 0, nanoseconds = 0;
};
using RegionPaces = std::map<std::string, RegionPace>; // by the region's frames

struct OnlineMove {
  std::uint64_t address = 0, bytes = 0;
  unsigned from = 0; // the node that had most of it
};

struct OnlineState {
  std::array<std::uint64_t, k_memory_kinds> moved_into{}; // bytes, all looks together
  double seconds = 0;                                     // that moves took
  unsigned changes = 0;                                   // of the placement
  unsigned looks_since = 0;                               // the last one
  double expected = 0;             // part of the run's time that the last change was to save
  double pace = 0; // time of parallel regions since the last change over that before; 0: not known
  bool undone = false, refused = false; // moves; the kernel refuses to move pages
  std::vector<OnlineMove> moves;        // since the last change, in their order
  // Totals when the last change but one was settled (the start, if there is none), when the last
  // one was made, and at the first look behind it.
  RegionPaces before, at_change, settled;
};

// None if there is no file. Throws std::exception on one that is no state.
std::optional<OnlineState> read_state(const OnlineFiles& files);
// False if it cannot be written: the old one stays.
bool write_state(const OnlineFiles& files, const OnlineState& state);
bool write_whole(const std::string& file, const std::string& text); // the same for any text

// Time of the regions' visits since the last change was settled, over what as many took before it;
// 0: not known.
double pace_since_change(const OnlineState& state, const RegionPaces& now);

} // namespace omptier
