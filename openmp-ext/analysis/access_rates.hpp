// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From what sampled loops access to how much was accessed. A pattern says how a loop's accesses are
// divided, and weighs as much as the time it was sampled for; multiplied by the loop's rate
// (loop_rates.hpp, loop_advance.hpp), or an expected speed (loop_speed.hpp), it is a number of
// accesses. From these come rates by object and region, and shares of accesses between loops of
// different speed.
#pragma once

#include "analysis/attribution.hpp"

#include <span>

namespace omptier {

// Sets the shares of bytes accessed and written, manners, patterns and rates. runs: Sweep::patterns
// of each profile, whose records must still exist; advances: Sweep::advances, the same; blamed:
// Sweep::blamed_time of all.
void add_accesses(ProfileSummary& summary, std::span<const std::vector<PatternAt>> runs,
                  std::span<const AdvanceRates> advances, const BlamedTime& blamed);

} // namespace omptier
