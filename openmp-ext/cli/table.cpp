// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See table.hpp.
#include "cli/table.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

namespace omptier {
namespace {

using Cut = TableColumn::Cut;

constexpr std::size_t k_between = 2;   // columns between two cells
constexpr std::size_t k_least_name = 28, k_least_list = 14; // what cut texts have at least
constexpr const char *k_bold = "\33[1m", *k_faint = "\33[2m", *k_bar_colour = "\33[36m",
                     *k_plain = "\33[0m";

std::string first_columns(const std::string& text, std::size_t n) {
  std::size_t bytes = 0;
  for (; bytes < text.size(); ++bytes)
    if ((text[bytes] & 0xc0) != 0x80 && n-- == 0) break;
  return text.substr(0, bytes);
}

std::string last_columns(const std::string& text, std::size_t n) {
  return text.substr(first_columns(text, columns_of(text) - n).size());
}

class Layout {
public:
  Layout(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows,
         std::size_t width)
      : columns_(columns), widths_(columns.size()) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      widths_[i] = columns_of(columns[i].title);
      for (const TableRow& cells : rows)
        widths_[i] = std::max(widths_[i], columns_of(cells[i]));
      if (std::ranges::any_of(rows, [&](const TableRow& cells) { return cells[i] != "-"; }))
        shown.push_back(i);
    }
    if (width > 0) fit(width);
  }

  std::size_t width(std::size_t column) const { return widths_[column]; }

  std::vector<std::size_t> shown, left_out;

private:
  std::size_t least(std::size_t column) const {
    const Cut cut = columns_[column].cut;
    if (cut == Cut::never) return widths_[column];
    return std::min(widths_[column], cut == Cut::middle ? k_least_name : k_least_list);
  }

  std::size_t least_of_all() const {
    std::size_t sum = 0;
    for (const std::size_t i : shown)
      sum += least(i) + k_between;
    return sum - std::min(sum, k_between);
  }

  void fit(std::size_t width) {
    while (least_of_all() > width) {
      const auto last = std::ranges::max_element(
          shown, {}, [&](std::size_t column) { return columns_[column].rank; });
      if (last == shown.end() || columns_[*last].rank == 0) break;
      left_out.push_back(*last);
      shown.erase(last);
    }
    const std::size_t used = least_of_all();
    std::size_t left = width - std::min(width, used);
    for (const std::size_t i : shown) {
      const std::size_t more = std::min(left, widths_[i] - least(i));
      widths_[i] = least(i) + more;
      left -= more;
    }
  }

  const std::vector<TableColumn>& columns_;
  std::vector<std::size_t> widths_;
};

std::string painted(const std::string& text, const TableColumn& column) {
  if (text == "-") return k_faint + text + k_plain;
  const std::size_t bar = column.bar ? text.find("% ") : std::string::npos;
  if (bar == std::string::npos) return text;
  return text.substr(0, bar + 2) + k_bar_colour + text.substr(bar + 2) + k_plain;
}

} // namespace

Table table(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows,
            const TextLook& look) {
  const Layout layout(columns, rows, look.width);
  const auto line = [&](auto cell, auto paint) {
    std::string text, blanks;
    for (const std::size_t i : layout.shown) {
      const TableColumn& column = columns[i];
      const std::string kept = cut_text(cell(i), layout.width(i), column.cut, look.utf8);
      const std::string padding(layout.width(i) - columns_of(kept), ' ');
      const bool right = column.align == TableColumn::Align::right;
      text += blanks + (right ? padding : "") + (look.colour ? paint(kept, column) : kept);
      blanks = (right ? "" : padding) + std::string(k_between, ' '); // none at the line's end
    }
    text.resize(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  Table made;
  made.text = line([&](std::size_t i) { return columns[i].title; },
                   [](const std::string& title, const TableColumn&) {
                     return k_bold + title + k_plain;
                   });
  for (const TableRow& cells : rows)
    made.text += line([&](std::size_t i) { return cells[i]; }, painted);
  for (const std::size_t i : layout.left_out)
    made.left_out.push_back(columns[i].title);
  return made;
}

std::string cut_text(const std::string& text, std::size_t columns, Cut where, bool utf8) {
  const std::string dots = utf8 ? "…" : "..";
  const std::size_t used = columns_of(dots);
  if (where == Cut::never || columns_of(text) <= columns || columns <= used) return text;
  const std::size_t kept = columns - used, tail = where == Cut::middle ? kept * 3 / 5 : 0;
  return first_columns(text, kept - tail) + dots + last_columns(text, tail);
}

bool has_text(const std::string& text, const std::string& part) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  return part.empty() ||
         std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
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
