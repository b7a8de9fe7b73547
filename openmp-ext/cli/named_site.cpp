// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See named_site.hpp.
#include "cli/named_site.hpp"

#include <algorithm>
#include <cctype>
#include <functional>

namespace omptier {
namespace {

constexpr std::size_t k_most_named = 4; // labels in an error

std::string some_labels(const std::vector<std::string>& labels,
                        const std::vector<std::size_t>& which) {
  std::string text;
  for (std::size_t at = 0; at < std::min(which.size(), k_most_named); ++at)
    text += (at == 0 ? "" : "; ") + labels[which[at]];
  if (which.size() > k_most_named)
    text += "; and " + std::to_string(which.size() - k_most_named) + " more";
  return text;
}

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// Letters of the longest part that both have.
std::size_t in_common(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), now(b.size() + 1);
  std::size_t longest = 0;
  for (const char letter : a) {
    for (std::size_t at = 0; at < b.size(); ++at) {
      now[at + 1] = same_letter(letter, b[at]) ? before[at] + 1 : 0;
      longest = std::max(longest, now[at + 1]);
    }
    std::swap(before, now);
  }
  return longest;
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& letter : small)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return small;
}

// Most alike first.
std::vector<std::size_t> nearest(const std::vector<std::string>& labels, std::string_view name) {
  std::vector<std::pair<std::size_t, std::size_t>> order; // letters, label
  for (std::size_t at = 0; at < labels.size(); ++at)
    order.emplace_back(in_common(labels[at], name), at);
  std::ranges::stable_sort(order, std::greater{}, [](const auto& one) { return one.first; });
  std::vector<std::size_t> which;
  for (const auto& [letters, at] : order)
    which.push_back(at);
  return which;
}

} // namespace

std::string_view without_part(std::string_view name) {
  for (const std::string_view part : {", bytes ", ", block ", ", blocks "})
    if (const std::size_t at = name.rfind(part); at != name.npos) return name.substr(0, at);
  for (const std::string_view part : {" % of it in ", " % of each block in ", " % of its blocks"})
    if (const std::size_t at = name.rfind(part); at != name.npos)
      return name.substr(0, name.rfind(", ", at));
  return name;
}

std::string without_lines(std::string_view shown) {
  const std::string_view label = without_part(shown);
  const auto is_digit = [&](std::size_t at) {
    return at < label.size() && std::isdigit(static_cast<unsigned char>(label[at])) != 0;
  };
  std::string text;
  for (std::size_t at = 0; at < label.size(); ++at) {
    if (label[at] == ':' && is_digit(at + 1)) {
      while (is_digit(at + 1))
        ++at;
      continue;
    }
    text += label[at];
  }
  return text;
}

Parsed<std::size_t> site_named(const std::vector<std::string>& labels, std::string_view wanted) {
  using Outcome = Parsed<std::size_t>;
  const std::string quoted = in_quotes(wanted);
  const std::string name(without_part(wanted)), small = in_small_letters(name);
  const std::function<bool(const std::string&)> manners[] = {
      [&](const std::string& label) { return label == name; },
      [&](const std::string& label) { return label.substr(0, label.find(' ')) == name; },
      [&](const std::string& label) { return label.find(name) != std::string::npos; },
      [&](const std::string& label) {
        return in_small_letters(label.substr(0, label.find(' '))) == small;
      },
      [&](const std::string& label) {
        return in_small_letters(label).find(small) != std::string::npos;
      }};
  for (const auto& is_meant : manners) {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < labels.size() && !name.empty(); ++at)
      if (is_meant(labels[at])) found.push_back(at);
    if (found.size() == 1) return found[0];
    if (found.size() > 1)
      return Outcome::failure(quoted + " may be " + some_labels(labels, found) +
                              "; write more of the name");
  }
  return Outcome::failure("no allocation or static has " + quoted +
                          " in its name; there are: " + some_labels(labels, nearest(labels, name)));
}

} // namespace omptier
