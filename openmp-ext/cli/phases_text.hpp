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

// The three objects accessed most in a region, with their parts of its accesses.
std::string most_accessed(const ProfileSummary& summary, const ProfileNames& names,
                          std::uint32_t region);

} // namespace omptier
