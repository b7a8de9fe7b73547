// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Containers that grow (push_back) allocate a larger block, copy, and free the old one: for that
// moment both are alive, and both need room. What a site holds at its peak is told apart from what
// it holds but for such old copies.
//
// A block is an old copy from the moment when the same thread allocates a larger one at the same
// site until it is freed, if it is freed before that thread allocates there again, the larger block
// outlives it, and it was not an old copy for more than k_longest_copy times as long as it was the
// newest block: copying takes no longer than filling by that factor, while two arrays that live
// side by side do so for most of their time. Something that grows does so more than once: one such
// block of a site is none.
//
// Only blocks that are logged one by one are seen (from 64 KiB on).
#pragma once

#include "analysis/attribution.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace omptier {

inline constexpr std::uint64_t k_longest_copy = 4;

// Sets what SiteInProfile knows of growth, once all of the profile's objects have been taken.
// site_numbers: the summary's, by number of the profile.
void measure_growth(const Profile& profile, std::span<const std::uint32_t> site_numbers,
                    std::vector<SiteInProfile>& sites);

} // namespace omptier
