// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Demand from what loops access (analysis/loop_traffic.hpp), where a profile has samples of time.
// Time is blamed on the access that a loop waits for; an array that is prefetched meanwhile costs
// nothing where the program was recorded, and all of its bytes in a slower memory. So the sites of
// a loop divide its time as the model says for their lines in the memory of the recording:
//
//   lines of site i = lines by the loop's pace · min(1, its time / the model's for all of them)
//
// If memory takes less time for them than the loop, the rest of its time is work
// (model/loop_time.hpp). Lines of objects that stay in the last-level cache beside the others are
// not counted, nor scattered accesses that a cache holds for a while. For these the loop waited for
// the cache instead. On another machine that is no work: the waits for its own cache take its
// place, and the loop's lines are limited only by what the recording's cache could have brought in
// time.
#pragma once

#include "advisor/terms.hpp"
#include "advisor/workload.hpp"
#include "analysis/aggregate.hpp"
#include "platform/platform.hpp"

#include <span>

namespace omptier {

// sites: one for each of the summary's. Changes the demand and the loops of those whose lines are
// known. cache: the last level where the program is to run; if unknown, as recorded. Returns the
// loops' work in nanoseconds, by their numbers in the summary's traffic.
std::vector<double> count_traffic(std::span<SiteDemand> sites, const ProfileSummary& summary,
                                  const Figures& recorded_in, const Terms& terms = {},
                                  const CachePart& cache = {});

} // namespace omptier
