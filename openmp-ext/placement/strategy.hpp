// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPTIER_STRATEGY: placement of every allocation without plan or traits. first-come fills the
// fastest memory that OMPTIER_CAPACITY still allows, in the order of the tiers, as first touch
// would: a large block that does not fit as a whole begins there and continues in the next tiers,
// each as far as it has room. only-<kind> puts everything into one kind. Blocks that fit nowhere go
// to the runtime's default memory.
#pragma once

#include "base/kind.hpp"
#include "base/text.hpp"

#include <optional>
#include <string_view>

namespace omptier {

inline constexpr std::size_t k_least_strategy_block = 4096; // smaller blocks are left alone

struct Strategy {
  enum class Mode : std::uint8_t { none, first_come, only };
  Mode mode = Mode::none;
  MemoryKind kind = MemoryKind::unknown; // for only-<kind>
};

inline constexpr const char* k_strategy_names =
    "first-come, only-dram, only-hbm, only-nvm, only-cxl";

// One of these; "" -> none.
Parsed<Strategy> parse_strategy(std::string_view text);

} // namespace omptier
