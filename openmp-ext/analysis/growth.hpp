// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Containers that grow (push_back) allocate a larger block, copy, and free the old one: for that
// moment both need room. A block is such an old copy from when the same thread allocates a larger
// one at the same site until it is freed, if
// - it is freed before that thread allocates there again, and the larger block outlives it;
// - it was an old copy for at most k_longest_copy times as long as it was the newest block: copying
//   takes no longer than filling by that factor, while two arrays used together both live longer;
// - the site has another such block: what grows does so more than once.
//
// Only blocks that are logged one by one are seen (from 64 KiB on).
#pragma once

#include "analysis/attribution.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace omptier {

inline constexpr std::uint64_t k_longest_copy = 4;

// To be called after all of the profile's objects. site_numbers: by number of the profile.
void measure_growth(const Profile& profile, std::span<const std::uint32_t> site_numbers,
                    std::vector<SiteInProfile>& sites);

} // namespace omptier
