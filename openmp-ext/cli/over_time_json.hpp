// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What pictures need beside the report's tables: the run over time, and objects by share per byte.
#pragma once

#include "analysis/aggregate.hpp"

#include <nlohmann/json_fwd.hpp>

namespace omptier {

nlohmann::json over_time_json(const ProfileSummary& summary);
nlohmann::json densest_json(const ProfileSummary& summary);

} // namespace omptier
