// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which source line an instruction belongs to, for people who wrote the program: what is inlined
// from a library's headers is the line that calls it.
#pragma once

#include "symbols/symbols.hpp"

namespace omptier {

// The innermost place of the frame that is in the program's own source, else the outermost known;
// no function and line 0 where nothing is known.
SourceLocation own_line(const ResolvedFrame& frame);

} // namespace omptier
