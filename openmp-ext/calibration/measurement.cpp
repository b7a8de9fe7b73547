// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See measurement.hpp.
#include "calibration/measurement.hpp"

#include <algorithm>
#include <array>

namespace omptier {
namespace {

constexpr std::array<std::string_view, k_quantities> k_names = {
    "read-latency", "write-latency",  "read",      "write",      "copy",
    "gather",       "gather-4",       "gather-8",  "gather-16",  "strided",
    "tiled",        "loaded-latency", "read-both", "move-small", "move-huge"};
static_assert(k_names[static_cast<std::size_t>(Quantity::move_huge)] == "move-huge");

} // namespace

std::string_view name_of(Quantity quantity) {
  return k_names[static_cast<std::size_t>(quantity)];
}

std::optional<Quantity> quantity_named(std::string_view name) {
  const auto* const at = std::ranges::find(k_names, name);
  if (at == k_names.end()) return {};
  return static_cast<Quantity>(at - k_names.begin());
}

Result together(const Result& first, const Result& second) {
  if (first.value <= 0 || second.value <= 0) return first.value > 0 ? second : first;
  Result both = first;
  both.value = (first.value + second.value) / 2;
  both.low = std::min(first.low, second.low);
  both.high = std::max(first.high, second.high);
  both.repeats = first.repeats + second.repeats;
  both.visits = {first.value, second.value};
  return both;
}

bool is_time(Quantity quantity) {
  switch (quantity) {
  case Quantity::read_latency:
  case Quantity::write_latency:
  case Quantity::loaded_latency:
  case Quantity::move_small:
  case Quantity::move_huge:
    return true;
  default:
    return false;
  }
}

} // namespace omptier
