// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See nearest.hpp.
#include "cli/nearest.hpp"

#include <algorithm>
#include <utility>

namespace omptier {
namespace {

std::size_t difference(std::string_view a, std::string_view b) { // Levenshtein
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] != b[j])});
      diagonal = above;
    }
  }
  return row.back();
}

} // namespace

std::vector<std::string> nearest_names(std::string_view word, std::span<const std::string> names,
                                       std::size_t most) {
  std::vector<std::pair<std::size_t, std::string>> order;
  for (const std::string& name : names)
    order.emplace_back(name.starts_with(word) ? 0 : difference(word, name), name);
  std::ranges::stable_sort(order, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> nearest;
  for (auto& [distance, name] : order)
    if (nearest.size() < most && distance <= order.front().first + 1)
      nearest.push_back(std::move(name));
  return nearest;
}

} // namespace omptier
