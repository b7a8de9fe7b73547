// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the line that an instruction loads is stored to right behind it, as in y[i] += x or
// bins[k]++: a counted miss of the load is then a line that memory must write, too, and no miss of
// a store ever tells.
#pragma once

#include "emulation/decode.hpp"

namespace omptier {

// number: of an instruction that loads. Looks at straight code only, and at general registers.
bool is_stored_back(const Function& function, int number);

} // namespace omptier
