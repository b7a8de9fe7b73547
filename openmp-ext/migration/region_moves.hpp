// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions and the plan: when a parallel region begins for which the plan wants objects in another
// kind of memory, their pages are moved before the team starts. Objects that the region does not
// need there and that count for less are moved out first, to where the plan says they live
// otherwise. Regions that the plan does not name change nothing, and neither does the same region
// again.
#pragma once

#include "placement/placer.hpp"
#include "placement/plan_placement.hpp"

namespace omptier {

// One object's pages moved at the begin of a region.
struct RegionMove {
  const void* block = nullptr;
  std::size_t bytes = 0; // that arrived
  MemoryKind from = MemoryKind::unknown, to = MemoryKind::unknown;
  double seconds = 0;
  std::uint64_t at = 0; // CLOCK_MONOTONIC nanoseconds, begin of the move
  const void* codeptr = nullptr;
  std::uint32_t plan_entry = 0; // index of the entry that asked
};

// To be called when a region begins, on the thread that meets it. moved is told of every move.
// Another region that begins on another thread meanwhile moves nothing.
void region_begins(const PlanPlacement& plan, Placer& placer, const void* codeptr,
                   void (*moved)(const RegionMove&));

// All moves so far by plan entry, for reports.
struct MoveTotals {
  std::uint64_t moves = 0, bytes = 0, nanoseconds = 0, first = 0, last = 0, without_room = 0;
};
MoveTotals move_totals(std::uint32_t plan_entry);

} // namespace omptier
