// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See table.hpp.
#include "cli/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace omptier {

std::string table(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (std::ranges::any_of(rows, [&](const TableRow& cells) { return cells[i] != "-"; }))
      shown.push_back(i);
  const auto line = [&](auto cell) {
    std::string text;
    for (const std::size_t i : shown) {
      const int width = columns[i].width;
      if (!text.empty()) text += "  ";
      text += fitted(cell(i), static_cast<std::size_t>(std::abs(width)), width < 0);
    }
    text.resize(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = line([&](std::size_t i) { return columns[i].title; });
  for (const TableRow& cells : rows)
    text += line([&](std::size_t i) { return cells[i]; });
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
