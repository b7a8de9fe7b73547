// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page of omptier report --html: what --json has, cut to what the page shows.
#pragma once

#include "base/text.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace omptier {

// folder: pictures_folder().
Parsed<std::string> report_page(nlohmann::json profile, const std::string& folder);

} // namespace omptier
