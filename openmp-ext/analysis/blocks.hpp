// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells the blocks of one site apart: on which of them its samples fell, and how much of its memory
// nine tenths of the samples need. Memory counts as bytes times the block's lifetime: a hundred
// buffers one after the other need no more than one of them.
//
// The best parts by few samples are overestimated if the same samples choose and measure. So one
// half of the samples chooses, the other measures, and vice versa.
#pragma once

#include "analysis/attribution.hpp"

#include <span>
#include <string>

namespace omptier {

// Fills in what is known of each site's blocks. attributions: one per sample of the profile.
void measure_blocks(const Profile& profile, std::span<const std::uint32_t> site_numbers,
                    const std::vector<Attribution>& attributions,
                    std::vector<SiteInProfile>& sites, std::vector<SiteSummary>& summaries);

// "block 3", "blocks 3, 5", "blocks 0 to 7, 9, …" of numbers in ascending order.
std::string blocks_in_words(std::span<const std::uint32_t> numbers);

} // namespace omptier
