// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See loop_nests.hpp.
#include "analysis/loop_nests.hpp"

#include <algorithm>

namespace omptier {

void LoopNests::add(std::uint32_t thread, std::uint64_t loop, std::uint64_t nest) {
  if (thread == 0 || nest == 0) return;
  const Place before = std::exchange(last_[thread], {loop, nest});
  if (before.nest != nest) return;
  Nest& counts = nests_[nest];
  ++counts.samples;
  ++counts.by_loop[loop];
  if (before.loop != loop) ++counts.changes[std::minmax(before.loop, loop)];
}

// Drawn at random, a sample in one loop would follow one in the other so often by their parts.
bool LoopNests::alternate(const Nest& nest, const Pair& loops, std::uint64_t changes) {
  constexpr std::uint64_t k_enough = 8;
  constexpr double k_as_if_drawn = 0.5;
  const auto in = [&](std::uint64_t loop) {
    const auto found = nest.by_loop.find(loop);
    return found != nest.by_loop.end() ? static_cast<double>(found->second) : 0;
  };
  const double drawn = 2 * in(loops.first) * in(loops.second) / static_cast<double>(nest.samples);
  return changes >= k_enough && static_cast<double>(changes) >= k_as_if_drawn * drawn;
}

std::unordered_map<std::uint64_t, std::uint64_t> LoopNests::together() const {
  std::unordered_map<std::uint64_t, std::uint64_t> parent;
  const auto first_of = [&](std::uint64_t loop) {
    for (auto at = parent.find(loop); at != parent.end() && at->second != loop;
         at = parent.find(loop))
      loop = at->second;
    return loop;
  };
  for (const auto& [number, nest] : nests_)
    for (const auto& [loops, changes] : nest.changes) {
      if (!alternate(nest, loops, changes)) continue;
      const auto [first, other] = std::minmax({first_of(loops.first), first_of(loops.second)});
      parent[first] = parent[other] = first;
    }
  for (auto& [loop, first] : parent)
    first = first_of(loop);
  return parent;
}

} // namespace omptier
