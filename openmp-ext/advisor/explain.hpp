// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The advisor's reasons as text.
#pragma once

#include "advisor/placement.hpp"

#include <string>

namespace omptier {

// "57.1 % (54.9 % to 59.3 %) of misses on 8.1 % of the bytes, mostly scattered loads"
// all_bytes: all_peaks(workload), which takes long to sum up for each of very many sites.
std::string seen_text(const Workload& workload, std::size_t site, std::uint64_t all_bytes);
// The same, and "; DRAM saves 81 % of its time against NVM".
std::string reason_for(const Workload& workload, const std::vector<TierChoice>& tiers,
                       const CostTable& costs, std::size_t site, std::size_t tier,
                       std::uint64_t all_bytes);
// Why a faster kind holds what a slower one would serve better by itself; "" if that is not so.
// costs: of the site, by tier.
std::string better_alone_text(const std::vector<TierChoice>& tiers,
                              const std::vector<double>& costs, std::size_t tier);
std::uint64_t all_peaks(const Workload& workload); // the bytes that a site's bytes are a part of

double streamed_part(const Demand& demand); // of the accesses, 0…1

inline constexpr double k_read_mostly = 0.25; // of the accesses: most writes of a mostly read array

const char* noun_of(Measure measure);

} // namespace omptier
