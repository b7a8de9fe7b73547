// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a mistyped name may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace omptier {

// The names that differ from the word in the fewest letters, or in one more; those that begin with
// the word differ in none. At most so many; at least one, if there are names.
std::vector<std::string> nearest_names(std::string_view word, std::span<const std::string> names,
                                       std::size_t most);

} // namespace omptier
