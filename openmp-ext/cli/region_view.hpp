// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A report on some parallel regions alone, as if their samples were all there are.
#pragma once

#include "analysis/aggregate.hpp"
#include "symbols/symbols.hpp"

#include <string>

namespace omptier {

// Keeps the regions whose name has this text; shares of objects are of the samples in these. Sites
// and their names are reordered, and sites without samples there removed. Regions keep their shares
// of the run; sizes, blocks, patterns and cache shares are those of the whole run. False, and
// nothing changes, if no region has such a name.
bool keep_regions(ProfileSummary& summary, ProfileNames& names, const std::string& text);

} // namespace omptier
