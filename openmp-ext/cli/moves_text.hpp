// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves between memory kinds while a profile was recorded: which object, for which region, when,
// and how long they took.
#pragma once

#include "analysis/aggregate.hpp"
#include "symbols/symbols.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace omptier {

// One row for each (object, region, from, to), longest total time first, at most 20; "" without
// moves.
std::string moves_text(const ProfileSummary& summary, const ProfileNames& names);

nlohmann::json moves_json(const ProfileSummary& summary);

} // namespace omptier
