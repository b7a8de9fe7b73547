// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The allocation or static that a user names by a part of the name that reports show.
#pragma once

#include "base/text.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace omptier {

// Advice shows parts: "grid (a.c:3), 25 % of it in 2 ranges", ", bytes 0 B to 2.00 MiB", ", blocks
// 3, 5". The name of the whole.
std::string_view without_part(std::string_view name);

// "coef (jacobi.c:10), 25 % of it in 2 ranges" -> "coef (jacobi.c)": lines move when the source is
// edited, and parts with the room.
std::string without_lines(std::string_view shown);

// Index into the labels: the one that is named exactly, else by its first word, else by any part;
// else so without regard to letter case. A part that advice shows (", 25 % of it in 2 ranges") does
// not count.
// A failure is one line: which names it may be, or which are like it.
Parsed<std::size_t> site_named(const std::vector<std::string>& labels, std::string_view name);

} // namespace omptier
