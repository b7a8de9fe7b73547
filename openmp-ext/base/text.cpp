// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes, capacities and node lists as text. Parsed by hand over string_view: the grammar is small
// and independent of the locale, and every error names the part that is wrong.
#include "base/text.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

namespace omptier {
namespace {

// use(part) returns an error line, which ends the loop, or "".
template <typename Use> std::string for_each_part(std::string_view text, Use use) {
  while (true) {
    const auto comma = text.find(',');
    if (std::string error = use(text.substr(0, comma)); !error.empty()) return error;
    if (comma == std::string_view::npos) return {};
    text.remove_prefix(comma + 1);
  }
}

struct KindAndRest {
  MemoryKind kind;
  std::string_view rest;
};

// "hbm:…" -> kind and the text after the colon.
Parsed<KindAndRest> split_kind(std::string_view part, std::string_view example) {
  const auto colon = part.find(':');
  const auto kind = parse_memory_kind(part.substr(0, colon));
  if (colon == std::string_view::npos || !kind || *kind == MemoryKind::unknown)
    return Parsed<KindAndRest>::failure(in_quotes(part) +
                                        " does not begin with dram:, hbm:, nvm: or cxl: (" +
                                        std::string(example) + ")");
  return KindAndRest{*kind, part.substr(colon + 1)};
}

bool parse_whole_number(std::string_view digits, unsigned& value) {
  if (digits.empty() || digits.size() > 6) return false;
  value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return true;
}

// "1+3", "2-3" or a mixture, into ascending node numbers.
bool parse_node_list(std::string_view text, std::vector<unsigned>& nodes) {
  while (true) {
    const auto plus = text.find('+');
    const std::string_view range = text.substr(0, plus);
    const auto dash = range.find('-');
    unsigned first = 0;
    unsigned last = 0;
    if (!parse_whole_number(range.substr(0, dash), first)) return false;
    last = first;
    if (dash != std::string_view::npos && !parse_whole_number(range.substr(dash + 1), last))
      return false;
    if (last < first || last > 1023) return false;
    for (unsigned node = first; node <= last; ++node)
      nodes.push_back(node);
    if (plus == std::string_view::npos) break;
    text.remove_prefix(plus + 1);
  }
  std::ranges::sort(nodes);
  return std::ranges::adjacent_find(nodes) == nodes.end();
}

std::string format(const char* pattern, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, pattern, value);
  return buffer;
}

} // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::size_t k_longest = 60;
  std::string shown =
      "\"" + std::string(text.substr(0, k_longest)) + (text.size() > k_longest ? "…" : "") + "\"";
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return shown;
}

std::optional<MemoryKind> parse_memory_kind(std::string_view text) {
  for (const MemoryKind kind : k_all_memory_kinds)
    if (same_ignoring_case(text, name_of(kind))) return kind;
  if (same_ignoring_case(text, name_of(MemoryKind::unknown))) return MemoryKind::unknown;
  return std::nullopt;
}

Parsed<std::uint64_t> parse_size(std::string_view text) {
  const auto bad = [&] {
    return Parsed<std::uint64_t>::failure(in_quotes(text) +
                                          " is not a size (such as 64M; K, M, G, T)");
  };
  std::size_t at = 0;
  unsigned __int128 mantissa = 0; // value * 10^decimals
  unsigned __int128 scale = 1;
  bool point = false;
  bool digits = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      digits = true;
      if (mantissa > (~static_cast<unsigned __int128>(0) >> 60)) return bad();
      mantissa = mantissa * 10 + static_cast<unsigned>(c - '0');
      if (point) scale *= 10;
      if (scale > 1'000'000'000'000) return bad();
    } else {
      break;
    }
  }
  if (!digits) return bad();
  unsigned shift = 0;
  if (at < text.size()) {
    constexpr std::string_view suffixes = "KMGT";
    const auto which =
        suffixes.find(static_cast<char>(std::toupper(static_cast<unsigned char>(text[at]))));
    if (which != std::string_view::npos) {
      shift = 10 * (static_cast<unsigned>(which) + 1);
      ++at;
      if (text.substr(at) == "iB") at += 2; // "64MiB", as reports print it
    }
    if (at < text.size() && same_ignoring_case(text.substr(at), "B")) ++at;
    if (at != text.size()) return bad();
  }
  const unsigned __int128 bytes = (mantissa << shift) / scale;
  if (bytes > ~static_cast<std::uint64_t>(0) || (mantissa >> (127 - shift)) != 0)
    return Parsed<std::uint64_t>::failure(in_quotes(text) + " is too large (at most 16777215T)");
  return static_cast<std::uint64_t>(bytes);
}

constexpr std::uint64_t k_least_capacity = 4096; // less, but for 0, is a unit forgotten

Parsed<CapacityByKind> parse_capacity(std::string_view text) {
  CapacityByKind capacity;
  const std::string error = for_each_part(text, [&](std::string_view part) -> std::string {
    const auto split = split_kind(part, "such as dram:64M,hbm:0");
    if (!split) return split.error();
    const auto size = parse_size(split->rest);
    if (!size) return size.error();
    if (*size > 0 && *size < k_least_capacity)
      return in_quotes(part) + " means " + std::to_string(*size) +
             " bytes; write K, M, G or T behind the number (" + std::string(part) + "G)";
    auto& entry = capacity[static_cast<std::size_t>(split->kind)];
    if (entry) return in_quotes(part) + " names a kind twice";
    entry = *size;
    return {};
  });
  if (!error.empty()) return Parsed<CapacityByKind>::failure(error);
  return capacity;
}

Parsed<NodesByKind> parse_nodes(std::string_view text) {
  NodesByKind nodes;
  const std::string error = for_each_part(text, [&](std::string_view part) -> std::string {
    const auto split = split_kind(part, "such as hbm:1+3,nvm:4-5");
    if (!split) return split.error();
    auto& list = nodes[static_cast<std::size_t>(split->kind)];
    if (!list.empty()) return in_quotes(part) + " names a kind twice";
    if (!parse_node_list(split->rest, list))
      return in_quotes(part) +
             " has no list of different node numbers (such as hbm:1+3 or nvm:4-5)";
    return {};
  });
  if (!error.empty()) return Parsed<NodesByKind>::failure(error);
  for (std::size_t a = 0; a < nodes.size(); ++a)
    for (std::size_t b = a + 1; b < nodes.size(); ++b)
      for (const unsigned node : nodes[a])
        if (std::ranges::find(nodes[b], node) != nodes[b].end())
          return Parsed<NodesByKind>::failure("node " + std::to_string(node) +
                                              " is named under two kinds");
  return nodes;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return format(unit == 0     ? "%.0f "
                : value < 10  ? "%.2f "
                : value < 100 ? "%.1f "
                              : "%.0f ",
                value) +
         units[unit];
}

std::string format_rate(double bytes_per_second) {
  if (bytes_per_second >= 1e9)
    return format(bytes_per_second < 1e10 ? "%.2f GB/s" : "%.1f GB/s", bytes_per_second / 1e9);
  return format("%.1f MB/s", bytes_per_second / 1e6);
}

std::string format_duration(double nanoseconds) {
  const double size = std::fabs(nanoseconds);
  if (size >= 1e9) return format("%.2f s", nanoseconds / 1e9);
  if (size >= 1e6) return format("%.2f ms", nanoseconds / 1e6);
  if (size >= 1e3) return format("%.2f us", nanoseconds / 1e3);
  return format("%.0f ns", nanoseconds);
}

std::string format_percent(double share, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f %%", digits, share * 100);
  return buffer;
}

} // namespace omptier
