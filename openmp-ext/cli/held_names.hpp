// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Profiles contain the names of their places. `omptier record` adds them when the program has
// ended, if its files and sources are still those that ran; report and advise then need neither,
// and print the same after a rebuild or on another machine.
#pragma once

#include "analysis/aggregate.hpp"
#include "symbols/symbols.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace omptier {

// Unique; never 0. OMPTIER_RECORDING passes it to the program, whose profiles store it.
std::uint64_t new_recording();

// Adds names to those profiles that belong to the recording and are finished, even if cut off. A
// separate process resolves them, since large programs need time and memory for this: after a
// second one line on stderr says so, and the user may interrupt it. Each failure is one line; the
// profile then stays as it was.
void add_names(const std::vector<std::string>& profiles, std::uint64_t recording);

// For report, advise and add_names. Names in the profiles win unless they are to be resolved anew.
Parsed<ProfileSummary> summarize_with_names(Symbols& symbols,
                                            const std::vector<std::string>& profiles,
                                            Programs programs, bool anew);

inline constexpr const char* k_resolve_help =
    "Resolve names by the program's files as they are now, also where profiles hold them";

} // namespace omptier
