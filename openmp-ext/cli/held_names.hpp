// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Profiles hold the names of their places. `omptier record` adds them when the program has ended,
// as long as its files and sources are those that ran; report and advise then need neither, and say
// the same after a rebuild or on another machine.
#pragma once

#include "analysis/aggregate.hpp"
#include "symbols/symbols.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace omptier {

// A number that no other recording has; never 0. The variable OMPTIER_RECORDING hands it to the
// program, whose profiles name it.
std::uint64_t new_recording();

// Adds names to those of the profiles that belong to the recording and are finished; a cut one
// included. They are resolved in a process of their own, since large programs need time and memory
// for this: after a second one line on stderr says so, and a person may interrupt it. What fails is
// one line each; the profile then stays as it was.
void add_names(const std::vector<std::string>& profiles, std::uint64_t recording);

// What report, advise and add_names start from. Names that the profiles hold win, unless they are
// to be resolved anew.
Parsed<ProfileSummary> summarize_with_names(Symbols& symbols,
                                            const std::vector<std::string>& profiles,
                                            Programs programs, bool anew);

inline constexpr const char* k_resolve_help =
    "Resolve names by the program's files as they are now, also where profiles hold them";

} // namespace omptier
