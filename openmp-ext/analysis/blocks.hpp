// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The blocks of one site told apart: which of them its samples fell on, and how much of its memory
// nine tenths of the samples need. Memory counts as bytes times the time that a block lives, so
// that a hundred buffers in turn need no more than one of them.
//
// Choosing the best parts by few samples overestimates them. So one half of the samples chooses,
// the other measures, and vice versa.
#pragma once

#include "analysis/attribution.hpp"

#include <span>
#include <string>

namespace omptier {

// Fills in what is known of each site's blocks. attributions: one a sample of the profile.
// parts: by site and region, gets the hot part of each.
void measure_blocks(const Profile& profile, std::span<const std::uint32_t> site_numbers,
                    const std::vector<Attribution>& attributions,
                    std::vector<SiteInProfile>& sites, std::vector<SiteSummary>& summaries);

// "block 3", "blocks 3, 5", "blocks 0 to 7, 9, …" of numbers in ascending order.
std::string blocks_in_words(std::span<const std::uint32_t> numbers);

} // namespace omptier
