// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When a parallel region begins, moves the objects that the plan wants elsewhere for it, before its
// team starts. Objects with less benefit that the region does not need there are moved out first,
// to where the plan places them otherwise. Nothing moves for regions that the plan does not name,
// or when the same region runs again; and nothing more once the program's own rounds have shown
// that it does not pay (rounds.hpp).
#pragma once

#include "migration/rounds.hpp"
#include "placement/placer.hpp"
#include "placement/plan_placement.hpp"

namespace omptier {

struct RegionMove {
  const void* block = nullptr;
  std::size_t bytes = 0; // that arrived at the new tier
  MemoryKind from = MemoryKind::unknown, to = MemoryKind::unknown;
  double seconds = 0;
  std::uint64_t at = 0; // CLOCK_MONOTONIC nanoseconds, begin of the move
  const void* codeptr = nullptr;
  std::uint32_t plan_entry = 0; // index of the entry that caused the move
};

// To be called on the thread that meets the region's begin. moved is called for every move. While
// one region moves pages, a region that begins on another thread moves nothing.
void region_begins(const PlanPlacement& plan, Placer& placer, const void* codeptr,
                   void (*moved)(const RegionMove&));

// To be called in a forked child: a thread that was moving pages does not exist there. What it had
// not moved yet, the next region moves. Rounds are compared anew.
void end_region_moves_of_parent();

struct MoveTotals {
  std::uint64_t moves = 0, bytes = 0, nanoseconds = 0, first = 0, last = 0, without_room = 0;
};
MoveTotals move_totals(std::uint32_t plan_entry);

// What the program's rounds have shown; unknown while a region moves pages.
Rounds::Verdict move_verdict();

} // namespace omptier
