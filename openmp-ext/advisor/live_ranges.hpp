// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a program that still runs has what the advisor places: addresses of its blocks and statics,
// from the profile that it is writing. What it allocates, frees, loads and unloads is known up to
// the profile's last record, so a range may be something else by now.
#pragma once

#include "advisor/workload.hpp"
#include "analysis/aggregate.hpp"

#include <vector>

namespace omptier {

struct LiveRange {      // of whole pages
  std::size_t site = 0; // of the workload
  std::uint64_t address = 0, bytes = 0;
};

// Of one process's profile. Only what a plan could place; pages that a block shares with its
// neighbours are left out.
std::vector<LiveRange> live_ranges(const Workload& workload, const ProfileSummary& summary);

} // namespace omptier
