// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the ranks of an MPI job, and how evenly each object is spread over them.
#pragma once

#include "analysis/aggregate.hpp"
#include "symbols/symbols.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace omptier {

// A table of ranks and one of the first most_sites objects; "" if profiles are of one rank.
std::string ranks_text(const ProfileSummary& summary, const ProfileNames& names,
                       std::size_t most_sites);

// One entry per rank; with_sites: with its objects, in the order of "sites". [] for one rank.
nlohmann::json ranks_json(const ProfileSummary& summary, bool with_sites);

} // namespace omptier
