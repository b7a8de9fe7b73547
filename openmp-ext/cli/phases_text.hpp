// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the run spent what was measured: phases that the program names, parallel regions, what lies
// between their barriers and between them; with the objects that each accessed most.
#pragma once

#include "cli/profile_text.hpp"

namespace omptier {

// Tables; "" when the run had no phase to tell apart.
std::string phases_text(const ProfileSummary& summary, const ProfileNames& names,
                        const ProfileTextOptions& options);

} // namespace omptier
