// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four digits, a tenth of the tolerance: rounding alone never makes equal platforms differ.
#include "platform/fingerprint.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

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

} // namespace omptier
