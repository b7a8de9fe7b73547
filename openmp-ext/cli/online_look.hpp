// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One look of `omptier run --online` at a running process: reads the profile that the process is
// writing, decides as `omptier advise` does, and moves what lies elsewhere from outside, while the
// program runs:
//
//   a change    of the placement is made if it is expected to save twice what its moves take, were
//               the run to last as long again as it has lasted
//   a repeat    (new blocks of what a change has placed) while all moves took 1 % of the run at
//   most undone      if parallel regions then take longer than before; after that nothing is moved
#pragma once

#include "cli/online_state.hpp"

namespace omptier {

// processes: so many are recorded, which share the scarce kinds unless limits names them (more if
// the launcher's or OMPTIER_SHARE's ranks are more).
void look_at(const OnlineFiles& files, const CapacityByKind& limits, unsigned processes);

} // namespace omptier
