// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves the objects that the plan wants elsewhere for a parallel region: when it begins, before its
// team starts, or by a thread of ours from the end of the region before on, whichever has proved
// faster (rounds.hpp). The plan's region may also be the call of a barrier in one: what it names
// then moves at that barrier, when all threads of the team have arrived and before they go on. Both
// are points of one sequence, called regions here. Nothing moves for regions that the plan does not
// name, or when the same region runs again, unless another one was expected, there are new objects,
// or moves were withheld; and nothing more once the program's own rounds have shown that it does
// not pay. Where there are no rounds, moves are limited until they prove to pay (visits.hpp).
//
// Pages may move at any time, since the kernel moves them: a thread that accesses one meanwhile
// waits for it. Begin and end of a region are good times, and so is a barrier, as the team does not
// work then. Other threads, regions that the plan does not name and the rest of an outer region
// may.
#pragma once

#include "migration/object_moves.hpp"
#include "migration/rounds.hpp"
#include "placement/placer.hpp"
#include "placement/plan_placement.hpp"

namespace omptier {

struct RegionMove : ObjectMove {
  const void* codeptr = nullptr; // of the region that it was made for
  bool between = false;          // regions: the program went on meanwhile
  bool at_barrier = false;       // the region is the call of one
};

// Called for every move, by the thread that made it.
using OnRegionMove = void (*)(const RegionMove&);

// To be called on the thread that meets the region's begin. While one thread moves pages for a
// region or waits for moves between regions, a region that begins on another moves nothing.
void region_begins(const PlanPlacement& plan, Placer& placer, const void* codeptr,
                   OnRegionMove moved);
// Whether barriers are to be told any more: the program's rounds may have ended all moves.
bool barriers_move();
// To be called on the primary thread of an outermost team, while the team waits at a barrier.
// stack: of the barrier's call, innermost first, frames_of_regions() of them if there are as many.
// Nothing moves before a barrier by a thread of ours, nor behind a region in which such a barrier
// was the last point, nor at barriers while several teams run: they may want memory in different
// places.
void barrier_reached(const PlanPlacement& plan, Placer& placer,
                     std::span<const ReturnAddress> stack, OnRegionMove moved);
unsigned frames_of_regions(const PlanPlacement& plan);
// The same thread as for region_begins, after every region. All arguments are used until a named
// region begins.
void region_ends(const PlanPlacement& plan, Placer& placer, const void* codeptr,
                 OnRegionMove moved);
// No region is likely to follow: begins no further object between regions. Does not wait.
void no_more_regions();

// To be called in a forked child: a thread that was moving pages does not exist there. What it had
// not moved yet, the next region moves. Rounds are compared anew.
void end_region_moves_of_parent();

struct MoveTotals {
  std::uint64_t moves = 0, bytes = 0, first = 0, last = 0, without_room = 0;
  std::uint64_t nanoseconds = 0; // of moves at begins, for which the program waited
  std::uint64_t between = 0;     // of the bytes
};
MoveTotals move_totals(std::uint32_t plan_entry);

// What the program's rounds have shown; unknown while a region moves pages.
Rounds::Verdict move_verdict();
// How often a region began for which memory was to move, but did not: visits.hpp. 0 while a region
// moves pages.
std::uint64_t visits_without_moves();

} // namespace omptier
