// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the stretches of a region begin. A profile names them by the barrier that ends them;
// whoever wants to do something when one begins must know the barrier before, or that it is the
// region's first. Both follow from the times of those in the profile, which has no more than those
// in which a sample fell: a gap before a stretch, of up to a twentieth of its length, is ignored.
#pragma once

#include "analysis/aggregate.hpp"

#include <optional>
#include <vector>

namespace omptier {

// Adds the profile's stretches to PhaseSummary::begins. numbers: of phases, by definition.
void count_begins(const Profile& profile, const std::vector<std::uint32_t>& numbers,
                  std::vector<PhaseSummary>& phases);

struct Beginning {
  bool at_region = false;              // when the region begins
  std::vector<std::uint32_t> barriers; // phases that end with the barriers behind which it begins
  double anew = 1; // entries of what begins there, behind another stretch, per entry of it
};

// Nothing if it is not a stretch of a region, if it is not known where it begins, or if what
// follows such a barrier is, for much of the time, now this stretch and now another one.
std::optional<Beginning> beginning_of(const ProfileSummary& summary, std::uint32_t phase);

} // namespace omptier
