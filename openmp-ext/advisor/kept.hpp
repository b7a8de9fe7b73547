// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sites that the user keeps in a kind of memory (advise --keep grid=hbm): the advisor decides about
// the others.
#pragma once

#include "advisor/placement.hpp"

#include <string>
#include <string_view>

namespace omptier {

// wish: "NAME=KIND", for all sites with NAME in their labels. Returns what is wrong with it, in one
// line, or "".
std::string keep_sites(Workload& workload, const std::vector<TierChoice>& tiers,
                       std::string_view wish);

// Of the kept sites that a placement has left nowhere, the first, as an error; "" if none.
std::string kept_without_room(const Workload& workload, const Placement& placement,
                              const std::vector<TierChoice>& tiers);

} // namespace omptier
