// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile as collapsed stacks, which flame graph tools read: a line "outermost;…;innermost
// weight" for each stack, the weight a whole number of nanoseconds of thread time, of misses or of
// bytes accessed (exact counts). A profile knows how the program came to its allocations and
// regions, and which line accessed an object, but not how it came to that line; so there are three
// kinds of stacks, and nothing is guessed between them.
#pragma once

#include "analysis/aggregate.hpp"
#include "symbols/symbols.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace omptier {

enum class FlameBy : std::uint8_t {
  objects, // calls that lead to an allocation, the object
  code,    // function, line, the object; as blamed, before streams share their time
  regions, // calls that lead to a parallel region, the region, the object
};

inline constexpr std::string_view k_flame_names = "objects, code, regions";
std::optional<FlameBy> flame_by(std::string_view name);

// Stacks in alphabetical order. All of the profile's weight is in them.
std::string flame_text(const ProfileSummary& summary, const ProfileNames& names, Symbols& symbols,
                       FlameBy by);

} // namespace omptier
