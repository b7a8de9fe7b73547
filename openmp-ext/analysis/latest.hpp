// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The latest part of a run, to decide by while it goes on: its set-up says little of what follows.
#pragma once

#include "log/reader.hpp"

#include <cstdint>

namespace omptier {

// Leaves what would have been recorded from `time` (as the log's) on. What lives then has been
// there from the start; totals of regions and of sites with many blocks stay those of the run.
// To be called before add_areas().
void keep_from(Profile& profile, std::uint64_t time);

} // namespace omptier
