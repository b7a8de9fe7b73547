// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A platform as text: the output of `omptier topology`, which tests compare with fixtures.
#pragma once

#include "platform/platform.hpp"

#include <string>
#include <vector>

namespace omptier {

// "0-3,8": operating-system numbers as ranges.
std::string format_numbers(const std::vector<unsigned>& numbers);

// Aligned columns, one line per node and view, then where figures come from, the tiers and the
// meaning of each standard memory space for each group of processors. Ends with a newline.
std::string describe(const Platform& platform);

} // namespace omptier
