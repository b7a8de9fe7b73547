// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which source line an instruction belongs to, for the authors of the program: code inlined from a
// library's headers belongs to the line that calls it.
#pragma once

#include "symbols/symbols.hpp"

namespace omptier {

// The frame's innermost place in the program's own source, else the outermost known place; no
// function and line 0 if nothing is known.
SourceLocation own_line(const ResolvedFrame& frame);

} // namespace omptier
