// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of how many samples the loops were emulated, and of how many they were not: what the columns that
// rest on it (accessed, accesses/s, load/store, pattern) are made of.
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
