// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See strategy.hpp.
#include "placement/strategy.hpp"

namespace omptier {

Parsed<Strategy> parse_strategy(std::string_view text) {
  if (text.empty()) return Strategy{};
  if (text == "first-come") return Strategy{Strategy::Mode::first_come, MemoryKind::unknown};
  constexpr std::string_view only = "only-";
  if (text.substr(0, only.size()) == only)
    if (const auto kind = parse_memory_kind(text.substr(only.size())))
      return Strategy{Strategy::Mode::only, *kind};
  return Parsed<Strategy>::failure("\"" + std::string(text) +
                                   "\" is no strategy; there are: " + k_strategy_names);
}

} // namespace omptier
