// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A site whose blocks differ is placed block by block: each hot one by itself, the rest together. A
// plan names blocks by number, so they must come in the same order in the next run: a site is
// divided only if all its blocks were recorded, one thread allocated them, and no other site's call
// stack looks the same to the runtime.
#pragma once

#include "advisor/workload.hpp"
#include "analysis/aggregate.hpp"

#include <vector>

namespace omptier {

// As the runtime sees them: without frames of system libraries where frames of the program follow.
std::vector<Frame> frames_of_runtime(const SiteSummary& site,
                                     const std::vector<ModuleInfo>& modules);

// Whether most blocks of the site are malloc's and small: its entry has to name a least_block.
bool has_small_blocks(const SiteSummary& site);

// Of a site, or of some of its blocks, those with these numbers, ascending. All of the site's
// blocks are in its summary.
SiteDemand some_blocks(const SiteDemand& whole, const ProfileSummary& summary,
                       std::vector<std::uint32_t> numbers);

// The parts of a site's demand, or the whole.
std::vector<SiteDemand> divide_by_blocks(SiteDemand whole, const ProfileSummary& summary);

// Both of all blocks of a site, or of the same.
bool are_of_the_same_blocks(const SiteDemand& one, const SiteDemand& other);

// Adds the other's demand, bytes over time and share.
void join_demands(SiteDemand& one, const SiteDemand& other);

// Joins blocks of a site whose parts are the same, each on the same tier. tier_of_site: by index of
// the sites, before and after.
void join_blocks(Workload& workload, std::vector<std::size_t>& tier_of_site);

} // namespace omptier
