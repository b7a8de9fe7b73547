// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile's summary for people (text with bars) and for programs (JSON), as `omptier report`
// prints it.
#pragma once

#include "analysis/aggregate.hpp"
#include "symbols/symbols.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace omptier {

struct ProfileTextOptions {
  std::size_t most_sites = 20; // rows; the rest is one row
  std::size_t most_regions = 10;
  bool utf8 = true;    // bars from blocks, else from '#'
  bool blocks = false; // rows for the blocks of each site
};

std::string profile_text(const ProfileSummary& summary, const ProfileNames& names,
                         const ProfileTextOptions& options);
nlohmann::json profile_json(const ProfileSummary& summary, const ProfileNames& names,
                            Symbols& symbols);

// "misses", "accesses" or "time".
const char* title_of(Measure measure);

} // namespace omptier
