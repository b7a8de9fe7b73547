// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What was moved between memory kinds while a profile was recorded: what, for which region, when,
// how long it took.
#pragma once

#include "analysis/aggregate.hpp"
#include "symbols/symbols.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace omptier {

// A table with a row for each (object, region, from, to), largest sum of times first, at most 20;
// "" without moves.
std::string moves_text(const ProfileSummary& summary, const ProfileNames& names);

// Every single move, in order of time.
nlohmann::json moves_json(const ProfileSummary& summary);

} // namespace omptier
