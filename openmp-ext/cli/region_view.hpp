// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A report on some parallel regions alone: their samples are all there are.
#pragma once

#include "analysis/aggregate.hpp"
#include "symbols/symbols.hpp"

#include <string>

namespace omptier {

// Leaves the regions whose name has this text; shares of objects are of the samples in these. Sites
// and their names are in the new order, those without samples there gone. Regions keep their shares
// of the run; sizes, blocks, patterns and what a cache served are those of the whole run. False,
// and nothing changes, where no region has such a name.
bool keep_regions(ProfileSummary& summary, ProfileNames& names, const std::string& text);

} // namespace omptier
