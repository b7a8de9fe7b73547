// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lines above a report's tables: what ran, when and where, and what was sampled.
#pragma once

#include "cli/report_text.hpp"

namespace omptier {

// Three lines; with options.verbose also what is known of the origin of the figures.
std::string report_head(const ProfileSummary& summary, const ProfileTextOptions& options);

} // namespace omptier
