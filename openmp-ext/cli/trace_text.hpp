// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run in time as trace events (the JSON that Chrome's and Perfetto's viewers open): named phases,
// parallel regions, stretches between barriers and moves on tracks of their own, and counters of
// live bytes. Of regions and stretches a profile holds those in which a sample fell.
#pragma once

#include "analysis/aggregate.hpp"
#include "symbols/symbols.hpp"

#include <string>

namespace omptier {

// Of a summary of one profile.
std::string trace_text(const ProfileSummary& summary, const ProfileNames& names);

} // namespace omptier
