// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One look of `omptier run --online` at a running process: reads the profile that the process is
// writing, decides as `omptier advise` does, and moves what lies elsewhere from outside, while the
// program runs:
//
// - A change of the placement is made if it is expected to save twice what its moves take, were the
//   run to last as long again as it has lasted.
// - New blocks of what a change has placed follow while all moves took 1 % of the run at most.
// - Moves are undone if parallel regions take longer than before; after that nothing is moved.
// There
//   are no others until that is known.
#pragma once

#include "base/text.hpp"
#include "cli/online_state.hpp"

namespace omptier {

// processes: so many are recorded, which share the scarce kinds unless limits names them (more if
// the launcher's or OMPTIER_SHARE's ranks are more).
void look_at(const OnlineFiles& files, const CapacityByKind& limits, unsigned processes);

} // namespace omptier
