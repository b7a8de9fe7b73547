// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many bytes of a site's blocks are new pages once a plan places them: all, where every block
// gets new ones; or what blocks freed before do not supply, where placement keeps the pages of
// these (model/kept_memory.hpp has for how long, and how many). Each site is looked at alone. What
// was there when the recording began is not new.
//
// Once: as many as are new in a run of any length, which is the most of them alive at a time.
//
// Blocks that are only counted are taken as new pages in the first case, and once, at their peak,
// in the second.
#pragma once

#include "analysis/attribution.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace omptier {

// To be called after all of the profile's objects. site_numbers: by number of the profile.
void measure_fresh_bytes(const Profile& profile, std::span<const std::uint32_t> site_numbers,
                         std::vector<SiteInProfile>& sites);

} // namespace omptier
