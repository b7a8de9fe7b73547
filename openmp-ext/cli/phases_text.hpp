// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the samples spread over phases that the program names, parallel regions, and the stretches
// between barriers and between regions; with the objects accessed most in each.
#pragma once

#include "cli/report_text.hpp"

namespace omptier {

// Tables; "" if the run had only one phase.
std::string phases_text(const ProfileSummary& summary, const ProfileNames& names,
                        const ProfileTextOptions& options);

} // namespace omptier
