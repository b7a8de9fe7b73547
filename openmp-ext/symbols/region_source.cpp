// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places of frames in the source (declared in symbols.hpp). A compiler that unrolls a loop, or
// inlines a function twice, makes several call stacks of one.
#include "symbols/symbols.hpp"

namespace omptier {

std::string place_in_source(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                            const std::vector<Frame>& frames) {
  std::string place;
  for (const Frame& frame : frames) {
    const ResolvedFrame resolved = symbols.resolve(modules[frame.module], frame.offset);
    const bool known = !resolved.locations.empty() && resolved.locations[0].line > 0;
    if (!known && place.empty()) return "";
    place += modules[frame.module].identity;
    if (!known) place += "+" + std::to_string(frame.offset);
    for (const SourceLocation& location : resolved.locations)
      place += "\n" + location.function + "\n" + location.file + ":" +
               std::to_string(location.line);
    place += "\n" + resolved.portable.callee + "\n" + std::to_string(resolved.runs) + "\n\n";
  }
  return place;
}

} // namespace omptier
