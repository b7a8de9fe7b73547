// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that nobody allocates becomes objects of a profile like all others: each static of 4 KiB
// or more is a variable, what is between them "statics of <module>", what cannot be written its
// code and constants; the stacks of all threads are one site, and so is what brk gave and nobody
// recorded. The log knows where modules lie, their files what lies in them.
#pragma once

#include "log/reader.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace omptier {

inline constexpr std::uint64_t k_least_variable = 4096;

struct StaticVariable {
  std::string symbol;       // as the linker knows it
  std::uint64_t offset = 0; // address - load bias
  std::uint64_t bytes = 0;
};

// The variables of a module from k_least_variable bytes on, in any order; none when its file is
// gone or has no symbols.
using StaticsOf = std::function<std::vector<StaticVariable>(const ModuleInfo&)>;

// Once a profile.
void add_areas(Profile& profile, const StaticsOf& statics_of);

} // namespace omptier
