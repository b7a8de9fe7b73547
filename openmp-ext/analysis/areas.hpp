// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns areas of the log into objects: each static from 4 KiB on; per module the rest ("statics of
// <module>"), and its code and constants; all stacks; the unrecorded heap. Names come from the
// module's file.
#pragma once

#include "log/reader.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace omptier {

inline constexpr std::uint64_t k_least_variable = 4096;

// From k_least_variable bytes on, in any order; none if the file is gone or has no symbols.
using StaticsOf = std::function<std::vector<StaticVariable>(const ModuleInfo&)>;

// To be called once per profile.
void add_areas(Profile& profile, const StaticsOf& statics_of);

} // namespace omptier
