// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether it pays to bring a site's memory into a faster kind whenever a parallel region begins. It
// does when the time saved in one visit of the region exceeds k_move_margin times the time of
// moving the site in and something else out:
//
//   (cost at home − cost in tier) / visits / threads  >  k_move_margin · (time of moving in +
//                                                          time of moving out)
//
// Costs are those of a site alone. Of a region's moves together, only the part counts that their
// loops save (model/loop_time.hpp), as if the moves held for the whole run. A visit is an entry
// into the region after another region. What saves less than a thousandth of the program's time is
// no move: it takes room for nothing. Sites that such a move may push out get an entry for their
// own regions, so that they come back.
//
// The same is asked of the stretches of a region between barriers, where it is known behind which
// barriers they begin. If their moves save more than those of the whole region, they are taken
// instead; what makes room for them counts as lost in stretches whose begin is not known. Not where
// the program runs with one thread: its barriers are not reported.
#pragma once

#include "advisor/placement.hpp"

namespace omptier {

inline constexpr double k_move_margin = 1.3;

struct RegionMove {
  std::size_t region = 0, site = 0, tier = 0; // the region: of the workload, or a stretch of one
  double saved = 0; // nanoseconds of thread time over the whole run, moving not subtracted
  double spent = 0; // nanoseconds of wall time for moving, over the whole run
};

std::vector<RegionMove> moves_that_pay(const Workload& workload,
                                       const std::vector<TierChoice>& tiers, const Placement& home);

} // namespace omptier
