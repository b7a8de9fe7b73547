// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One look of `omptier run --online` at a running process: reads the profile that the process is
// writing, decides as `omptier advise` does, and moves what lies elsewhere from outside, while the
// program runs. What is decided and found is kept in a file between the looks:
//
//   a change    of the placement is made if it is expected to save twice what its moves take, were
//               the run to last as long again as it has lasted
//   a repeat    (new blocks of what is placed already) while all moves took 1 % of the run at most
//   undone      if parallel regions then take longer than before; after that nothing is moved
//
// So moves take at most half of what they are expected to save, and 1 % of the run.
#pragma once

#include "base/kind.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace omptier {

inline constexpr double k_slower = 1.03; // regions' time over their time before: moves are undone

struct OnlineState {                                      // of a process, after a look
  std::array<std::uint64_t, k_memory_kinds> moved_into{}; // bytes, all looks together
  double seconds = 0;                                     // that moves took
  unsigned looks = 0, changes = 0; // that found enough samples; that changed the placement
  double expected = 0;             // part of the run's time that the last change was to save
  double pace = 0; // time of parallel regions since the last change over that before; 0: not known
  bool undone = false, refused = false; // moves; the kernel refuses to move pages
};

// Files of the process: its profile, and beside it the state and the plan.
struct OnlineFiles {
  std::string profile;
  std::string state() const { return profile + ".state"; }
  std::string plan() const { return profile + ".plan"; }
};

void look_at(const OnlineFiles& files, const CapacityByKind& limits);

// None before the first look that found enough samples.
std::optional<OnlineState> read_state(const OnlineFiles& files);

} // namespace omptier
