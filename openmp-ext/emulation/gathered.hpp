// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a core can have several of a load's accesses on the way at once, as in x[index[i]], or
// each needs what the one before brings, as in node = node->next: in code alone, without running
// it. The first wait for bandwidth, the second for latency.
#pragma once

#include "emulation/decode.hpp"

namespace omptier {

// number: of an instruction that loads. Follows registers and places on the stack around the loops
// that hold it, the innermost first. False where it is in no loop, or in one that is too large:
// then nothing is known of the load's next time.
bool is_gathered(const Function& function, int number);

} // namespace omptier
