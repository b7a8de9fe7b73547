// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four digits, a tenth of the tolerance: rounding alone never makes equal platforms differ.
#include "platform/fingerprint.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>

namespace omptier {
namespace {

constexpr double k_tolerance = 0.01;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The text must begin with a digit.
double take_number(std::string_view& text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error == std::errc::invalid_argument) { // cannot be: it begins with a digit
    text.remove_prefix(1);
    return value;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

struct KindOfMemory {
  double nodes = 0, size = 0; // GiB, of all nodes together
};

// By kind, of parts such as "hbm:2x16GiB,…"; what does not look so is a kind of its own.
std::map<std::string_view, KindOfMemory> kinds_in(std::string_view text) {
  std::map<std::string_view, KindOfMemory> kinds;
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    KindOfMemory& kind = kinds[part.substr(0, part.find(':'))];
    part.remove_prefix(std::min(part.find(':'), part.size() - 1) + 1);
    if (part.empty() || !is_digit(part.front())) continue;
    const double nodes = take_number(part);
    if (part.size() < 2 || part.front() != 'x' || !is_digit(part[1])) continue;
    part.remove_prefix(1);
    kind.nodes += nodes;
    kind.size += nodes * take_number(part);
  }
  return kinds;
}

} // namespace

std::string make_fingerprint(const std::vector<Tier>& tiers) {
  std::string text;
  for (const Tier& tier : tiers) {
    char part[256];
    const Figures& f = tier.figures;
    std::snprintf(part, sizeof part, "%s%s:%zux%.4gGiB,%.4g/%.4gGB/s,%.4g/%.4gns",
                  text.empty() ? "" : ";", name_of(tier.kind).data(), tier.nodes.size(),
                  static_cast<double>(tier.capacity) / static_cast<double>(tier.nodes.size()) /
                      (1024.0 * 1024 * 1024),
                  f.read_bandwidth / 1e9, f.write_bandwidth / 1e9, f.read_latency, f.write_latency);
    text += part;
  }
  return text;
}

bool same_platform(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const double x = take_number(a);
      const double y = take_number(b);
      if (std::fabs(x - y) > k_tolerance * std::max(x, y)) return false;
    } else {
      if (a.front() != b.front()) return false;
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.empty() && b.empty();
}

bool same_memory(std::string_view a, std::string_view b) {
  const auto kinds_a = kinds_in(a), kinds_b = kinds_in(b);
  return std::ranges::equal(kinds_a, kinds_b, [](const auto& x, const auto& y) {
    const double sizes[] = {x.second.size, y.second.size};
    return x.first == y.first && x.second.nodes == y.second.nodes &&
           std::fabs(sizes[0] - sizes[1]) <= k_tolerance * std::max(sizes[0], sizes[1]);
  });
}

} // namespace omptier
