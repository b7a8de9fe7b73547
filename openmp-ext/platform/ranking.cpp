// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// "Within 10 % the lower latency wins" is no ordering that a sort could use (a may tie with b and b
// with c, but not a with c). So the best is picked, then the best of what remains, and so on; a
// machine has a handful of memories.
#include "platform/ranking.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace omptier {
namespace {

// Place of a kind where no figures tell memories apart.
unsigned usual_place(MemoryKind kind, Preference preference) {
  using enum MemoryKind;
  static constexpr std::array<MemoryKind, 4> by_bandwidth = {hbm, dram, cxl, nvm};
  static constexpr std::array<MemoryKind, 4> by_latency = {dram, hbm, cxl, nvm};
  const auto& order = preference == Preference::latency ? by_latency : by_bandwidth;
  return static_cast<unsigned>(std::ranges::find(order, kind) - order.begin());
}

double latency_of(const Ranked& memory) {
  return memory.figures.read_latency > 0 ? memory.figures.read_latency
                                         : std::numeric_limits<double>::infinity();
}

double bandwidth_of(const Ranked& memory, Preference preference) {
  return preference == Preference::read_only ? memory.figures.read_bandwidth
                                             : mean_bandwidth(memory.figures);
}

// Figures are equal or missing: the usual order of kinds, then the nearer.
bool usually_better(const Ranked& a, const Ranked& b, Preference preference) {
  const unsigned place_a = usual_place(a.kind, preference);
  const unsigned place_b = usual_place(b.kind, preference);
  if (place_a != place_b) return place_a < place_b;
  const auto far = [](unsigned distance) { return distance == 0 ? ~0u : distance; };
  return far(a.distance) < far(b.distance);
}

bool better_by_latency(const Ranked& a, const Ranked& b) {
  if (latency_of(a) != latency_of(b)) return latency_of(a) < latency_of(b);
  if (mean_bandwidth(a.figures) != mean_bandwidth(b.figures))
    return mean_bandwidth(a.figures) > mean_bandwidth(b.figures);
  return usually_better(a, b, Preference::latency);
}

bool better_by_capacity(const Ranked& a, const Ranked& b) {
  if (a.capacity != b.capacity) return a.capacity > b.capacity;
  return better_by_latency(a, b);
}

using Remaining = std::vector<std::size_t>;

Remaining::iterator best_by_bandwidth(std::span<const Ranked> memories, Remaining& remaining,
                                      Preference preference) {
  double most = 0;
  for (const std::size_t i : remaining)
    most = std::max(most, bandwidth_of(memories[i], preference));
  if (most == 0) // nothing is known of the rest
    return std::ranges::min_element(remaining, [&](std::size_t a, std::size_t b) {
      return usually_better(memories[a], memories[b], preference);
    });
  const double enough = most * (1 - k_bandwidth_tie);
  auto best = remaining.end();
  for (auto at = remaining.begin(); at != remaining.end(); ++at) {
    const Ranked& memory = memories[*at];
    if (bandwidth_of(memory, preference) < enough) continue;
    if (best == remaining.end() || better_by_latency(memory, memories[*best])) best = at;
  }
  return best;
}

} // namespace

double mean_bandwidth(const Figures& figures) {
  if (figures.read_bandwidth > 0 && figures.write_bandwidth > 0)
    return (figures.read_bandwidth + figures.write_bandwidth) / 2;
  return std::max(figures.read_bandwidth, figures.write_bandwidth);
}

std::vector<std::size_t> rank(std::span<const Ranked> memories, Preference preference) {
  Remaining order(memories.size());
  std::iota(order.begin(), order.end(), 0u);
  if (preference == Preference::latency || preference == Preference::capacity) {
    const auto better = preference == Preference::latency ? better_by_latency : better_by_capacity;
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      if (better(memories[a], memories[b])) return true;
      return !better(memories[b], memories[a]) && a < b;
    });
    return order;
  }
  std::vector<std::size_t> sorted;
  while (!order.empty()) {
    const auto best = best_by_bandwidth(memories, order, preference);
    sorted.push_back(*best);
    order.erase(best);
  }
  return sorted;
}

} // namespace omptier
