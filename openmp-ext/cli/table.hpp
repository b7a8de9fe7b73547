// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables as text: cells, columns aligned by characters, bars; empty columns are left out.
#pragma once

#include "analysis/aggregate.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace omptier {

struct TableColumn {
  std::string title;
  int width = 0; // negative = right-aligned, 0 = as wide as the text
};
using TableRow = std::vector<std::string>;

// Leaves out the columns that have "-" in all rows.
std::string table(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows);

inline constexpr unsigned k_bar = 20;
// A bar of at most `width` columns for a fraction; of '#' without utf8.
std::string bar(double fraction, unsigned width, bool utf8);

// Columns that a UTF-8 text takes; and the text padded to that many.
std::size_t columns_of(const std::string& text);
std::string fitted(const std::string& text, std::size_t columns, bool right_aligned = false);

std::string with_separators(std::uint64_t value);    // "1,234"
std::string interval(const Share& share, bool utf8); // "11.0–13.5"

} // namespace omptier
