// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rule "within 10 % the lower latency wins" is not transitive (a may tie with b and b with c,
// but not a with c), so it cannot order a sort. So the best is picked, then the best of the rest,
// and so on; a machine has a handful of memories.
#include "platform/ranking.hpp"

#include "platform/usual_figures.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace omptier {
namespace {

// Rank of a kind where figures do not separate memories.
unsigned usual_place(MemoryKind kind, Preference preference) {
  using enum MemoryKind;
  static constexpr std::array<MemoryKind, 4> by_bandwidth = {hbm, dram, cxl, nvm};
  static constexpr std::array<MemoryKind, 4> by_latency = {dram, hbm, cxl, nvm};
  const auto& order = preference == Preference::latency ? by_latency : by_bandwidth;
  return static_cast<unsigned>(std::ranges::find(order, kind) - order.begin());
}

double bandwidth_of(const Ranked& memory, Preference preference) {
  return preference == Preference::read_only ? memory.figures.read_bandwidth
                                             : mean_bandwidth(memory.figures);
}

// For equal figures: the usual order of kinds, then the nearer.
bool usually_better(const Ranked& a, const Ranked& b, Preference preference) {
  const unsigned place_a = usual_place(a.kind, preference);
  const unsigned place_b = usual_place(b.kind, preference);
  if (place_a != place_b) return place_a < place_b;
  const auto far = [](unsigned distance) { return distance == 0 ? ~0u : distance; };
  return far(a.distance) < far(b.distance);
}

bool better_by_latency(const Ranked& a, const Ranked& b) {
  if (a.figures.read_latency != b.figures.read_latency)
    return a.figures.read_latency < b.figures.read_latency;
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
  const double enough = most * (1 - k_bandwidth_tie);
  auto best = remaining.end();
  for (auto at = remaining.begin(); at != remaining.end(); ++at) {
    const Ranked& memory = memories[*at];
    if (bandwidth_of(memory, preference) < enough) continue;
    if (best == remaining.end() || better_by_latency(memory, memories[*best])) best = at;
  }
  return best;
}

std::vector<Ranked> completed(std::span<const Ranked> memories) {
  FigureEstimates estimates;
  for (const Ranked& memory : memories)
    estimates.learn(memory.kind, memory.figures);
  std::vector<Ranked> made(memories.begin(), memories.end());
  for (Ranked& memory : made)
    memory.figures = estimates.estimate(memory.kind, memory.figures);
  return made;
}

} // namespace

double mean_bandwidth(const Figures& figures) {
  if (figures.read_bandwidth > 0 && figures.write_bandwidth > 0)
    return (figures.read_bandwidth + figures.write_bandwidth) / 2;
  return std::max(figures.read_bandwidth, figures.write_bandwidth);
}

std::vector<std::size_t> rank(std::span<const Ranked> given, Preference preference) {
  const std::vector<Ranked> memories = completed(given);
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
