// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves between memory kinds while a profile was recorded: object, region, time and duration.
#pragma once

#include "analysis/aggregate.hpp"
#include "symbols/symbols.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace omptier {

// Rows by object, region, from, to; longest total time first, at most 20; "" without moves.
std::string moves_text(const ProfileSummary& summary, const ProfileNames& names);

nlohmann::json moves_json(const ProfileSummary& summary);
nlohmann::json all_moves_json(const ProfileSummary& summary); // sums over them

} // namespace omptier
