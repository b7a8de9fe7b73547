// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many samples had their loops emulated and how many had not: the basis of the columns
// accessed, accesses/s, load/store and pattern.
#pragma once

#include "objects/loop_counts.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace omptier {

// One line of a report's head; "" for sources that emulate nothing.
std::string loops_text(const LoopCounts& loops);
// {"emulated", "alike", "left_out"}: samples.
nlohmann::json loops_json(const LoopCounts& loops);

} // namespace omptier
