// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See table.hpp.
#include "cli/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace omptier {
namespace {

std::string row(const TableRow& cells) {
  std::string text;
  for (const auto& [cell, width] : cells) {
    if (!text.empty()) text += "  ";
    text += width == 0 ? cell : fitted(cell, static_cast<std::size_t>(std::abs(width)), width < 0);
  }
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  return text + "\n";
}

} // namespace

std::string table(std::vector<TableRow> rows) {
  for (std::size_t column = rows.front().size(); column-- > 0;)
    if (std::all_of(rows.begin() + 1, rows.end(),
                    [&](const TableRow& cells) { return cells[column].first == "-"; }))
      for (TableRow& cells : rows)
        cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(column));
  std::string text;
  for (const TableRow& cells : rows)
    text += row(cells);
  return text;
}

std::string with_separators(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

std::string interval(const Share& share, bool utf8) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f%s%.1f", 100 * share.low, utf8 ? "–" : "-",
                100 * share.high);
  return text;
}

std::string bar(double fraction, unsigned width, bool utf8) {
  fraction = std::clamp(fraction, 0.0, 1.0);
  if (!utf8) return std::string(static_cast<std::size_t>(std::lround(fraction * width)), '#');
  static constexpr const char* k_eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<unsigned>(std::lround(fraction * width * 8));
  std::string text;
  for (unsigned i = 0; i < eighths / 8; ++i)
    text += "█";
  return text + k_eighths[eighths % 8];
}

std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string fitted(const std::string& text, std::size_t columns, bool right_aligned) {
  const std::size_t used = columns_of(text);
  if (used >= columns) return text;
  const std::string blanks(columns - used, ' ');
  return right_aligned ? blanks + text : text + blanks;
}

} // namespace omptier
