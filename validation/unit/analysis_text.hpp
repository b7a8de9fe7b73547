// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays that a test made up, as the report tells them.
#pragma once

#include "cli/report_text.hpp"

#include <string>

inline omptier::ProfileNames made_up_names(const omptier::ProfileSummary& summary) {
  omptier::ProfileNames names;
  for (const omptier::SiteSummary& site : summary.sites)
    names.sites.push_back("array" + std::to_string(site.frames[0].offset));
  names.regions.assign(summary.regions.size(), "outside");
  names.phases.assign(summary.phases.size(), "phase");
  return names;
}

inline std::string text_of(const omptier::ProfileSummary& summary) {
  omptier::ProfileTextOptions plain;
  plain.utf8 = false;
  return profile_text(summary, made_up_names(summary), plain);
}
