// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page of omptier report --html: our scripts and the drawing library (pictures/) and the
// numbers of --json, in one file that needs no network.
#pragma once

#include "base/text.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace omptier {

// folder: of the installed pictures/. The JSON is cut to what the page shows.
Parsed<std::string> report_page(nlohmann::json profile, const std::string& folder);

// Whether the file is empty or such a page.
bool may_be_replaced(const std::string& file);

} // namespace omptier
