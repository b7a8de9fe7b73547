// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables as text that fit a width. Columns are as wide as their texts; if not all fit, names are
// cut and then whole columns left out, the least important first. Empty columns are always left
// out. Bars, and colour where a terminal shows it.
#pragma once

#include "analysis/aggregate.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace omptier {

// Properties of the place where a text is read.
struct TextLook {
  unsigned width = 0;  // columns; 0 = no limit
  bool utf8 = true;    // bars from blocks, else from '#'
  bool colour = false; // ANSI sequences
};

struct TableColumn {
  enum class Align : std::uint8_t { left, right };
  enum class Cut : std::uint8_t { never, middle, end }; // where the width is not enough
  std::string title;
  Align align = Align::left;
  unsigned rank = 0; // the largest is left out first; 0: never
  Cut cut = Cut::never;
  bool bar = false; // what is behind the number is a bar
};
using TableRow = std::vector<std::string>;

struct Table {
  std::string text;
  std::vector<std::string> left_out; // titles of the columns that did not fit
};
// Leaves out columns with "-" in all rows.
Table table(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows,
            const TextLook& look);

inline constexpr unsigned k_bar = 10;
// At most `width` columns; of '#' without utf8.
std::string bar(double fraction, unsigned width, bool utf8);

// Columns that a UTF-8 text takes; the text padded or, with "…", cut to that many.
std::size_t columns_of(const std::string& text);
std::string fitted(const std::string& text, std::size_t columns, bool right_aligned = false);
std::string cut_text(const std::string& text, std::size_t columns, TableColumn::Cut where,
                     bool utf8);

// Case is ignored for ASCII letters.
bool has_text(const std::string& text, const std::string& part);

std::string with_separators(std::uint64_t value);    // "1,234"
std::string interval(const Share& share, bool utf8); // "11.0–13.5"

} // namespace omptier
