// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See threads_at_once.hpp.
#include "analysis/threads_at_once.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

namespace omptier {
namespace {

struct Thread {
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
  double weight = 0;
};

} // namespace

std::uint32_t threads_at_once(std::span<const LoggedSample> samples) {
  std::unordered_map<std::uint32_t, Thread> threads;
  double most = 0;
  for (const LoggedSample& sample : samples) {
    Thread& thread = threads[sample.thread];
    thread.first = std::min(thread.first, sample.time);
    thread.last = std::max(thread.last, sample.time);
    thread.weight += double{sample.weight};
    most = std::max(most, thread.weight);
  }
  std::vector<std::pair<std::uint64_t, int>> changes; // an end before a begin at the same time
  for (const auto& [number, thread] : threads) {
    if (thread.weight < most / 10) continue;
    changes.emplace_back(thread.first, 1);
    changes.emplace_back(thread.last, -1);
  }
  std::ranges::sort(changes);
  int now = 0, peak = 1;
  for (const auto& [time, change] : changes)
    peak = std::max(peak, now += change);
  return static_cast<std::uint32_t>(peak);
}

} // namespace omptier
