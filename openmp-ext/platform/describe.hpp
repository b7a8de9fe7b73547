// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A platform as text for people: what `omptier topology` prints and the fixtures of the tests hold.
#pragma once

#include "platform/platform.hpp"

#include <string>
#include <vector>

namespace omptier {

// "0-3,8": operating-system numbers as ranges.
std::string format_numbers(const std::vector<unsigned>& numbers);

// Aligned columns, one line a node and view, then the tiers and what each standard memory space
// means from each group of processors. Ends with a newline.
std::string describe(const Platform& platform);

} // namespace omptier
