// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sites of which the samples do not tell where they belong. A site could change places with what
// lies in a faster tier, which costs
//
//   (sum of what those lose that leave) − (what the site gains)
//
// With the intervals of the shares, both sums are uncertain. Where the cost is below the root of
// the sum of the squares of the terms' half intervals, and changing places costs less than
// k_worth_changing of the time, another profile of the same program may well decide the other way,
// and the advice says "either". What can be divided changes places in parts.
#pragma once

#include "advisor/placement.hpp"

#include <optional>
#include <vector>

namespace omptier {

// By site: the tier that would do as well, if there is one. costs: as cost_table() of the workload.
std::vector<std::optional<std::size_t>> toss_ups(const Workload& workload, const CostTable& costs,
                                                 const std::vector<TierChoice>& tiers,
                                                 const std::vector<std::size_t>& tier_of_site);

} // namespace omptier
