// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks of an MPI job side by side, and how unevenly each object lies on them.
#pragma once

#include "analysis/aggregate.hpp"
#include "symbols/symbols.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace omptier {

// A table with a row for each rank and one with a row for each object, the most_sites first; ""
// when the profiles are of one rank.
std::string ranks_text(const ProfileSummary& summary, const ProfileNames& names,
                       std::size_t most_sites);

// [] when the profiles are of one rank; else each with its objects' parts, as in "sites".
nlohmann::json ranks_json(const ProfileSummary& summary);

} // namespace omptier
