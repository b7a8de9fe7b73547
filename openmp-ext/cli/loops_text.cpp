// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See loops_text.hpp.
#include "cli/loops_text.hpp"

#include "cli/table.hpp"

#include <nlohmann/json.hpp>

namespace omptier {

std::string loops_text(const LoopCounts& loops) {
  if (loops == LoopCounts{}) return "";
  std::string text =
      "  the loops of " + with_separators(loops.emulated) + " samples were emulated";
  if (loops.alike > 0)
    text += ", for " + with_separators(loops.alike) + " more at the same places, too";
  text += loops.left_out == 0
              ? "; none was left out\n"
              : "; " + with_separators(loops.left_out) +
                    " were left out beyond emulation's budget, and those drawn weigh more\n";
  return text;
}

nlohmann::json loops_json(const LoopCounts& loops) {
  return {{"emulated", loops.emulated}, {"alike", loops.alike}, {"left_out", loops.left_out}};
}

} // namespace omptier
