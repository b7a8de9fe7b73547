// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "symbols/code_line.hpp"

#include "symbols/variable_in_line.hpp"

namespace omptier {

SourceLocation own_line(const ResolvedFrame& frame) {
  SourceLocation line;
  for (const SourceLocation& at : frame.locations) {
    line = at;
    if (at.line > 0 && !is_library_file(at.file)) break;
  }
  return line;
}

} // namespace omptier
