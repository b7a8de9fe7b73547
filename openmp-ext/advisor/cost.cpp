// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cost formulas of cost.hpp.
#include "advisor/cost.hpp"

#include <algorithm>

namespace omptier {
namespace {

constexpr double k_move_over_copy = 4; // time of moving pages over time of copying them

// Nanoseconds for one line at the thread's share of a bandwidth; 0 when the bandwidth is unknown.
double line_time(double bandwidth, unsigned threads) {
  return bandwidth > 0 ? k_line_bytes * threads / bandwidth * 1e9 : 0;
}

} // namespace

double access_time(Manner manner, const Figures& figures, unsigned threads) {
  switch (manner) {
  case Manner::scattered_load:
    return std::max(figures.read_latency, line_time(figures.read_bandwidth, threads));
  case Manner::streamed_load:
    return std::max(figures.read_latency / k_prefetch_lines,
                    line_time(figures.read_bandwidth, threads));
  case Manner::scattered_store:
  case Manner::streamed_store:
    return std::max(figures.write_latency / k_store_lines,
                    line_time(figures.read_bandwidth, threads) +
                        line_time(figures.write_bandwidth, threads));
  }
  return 0;
}

double demand_time(const Demand& demand, const Figures& figures, unsigned threads) {
  double time = 0;
  for (std::size_t i = 0; i < k_manners; ++i)
    time += demand.accesses[i] * access_time(static_cast<Manner>(i), figures, threads);
  return time;
}

std::vector<TierChoice> usable_tiers(const Platform& platform, const CapacityByKind& limits) {
  std::vector<TierChoice> choices;
  for (const Tier& tier : platform.tiers) {
    if (tier.kind == MemoryKind::unknown) continue;
    const auto same = std::ranges::find(choices, tier.kind, &TierChoice::kind);
    if (same != choices.end())
      same->capacity += tier.capacity;
    else
      choices.push_back({tier.kind, tier.capacity, tier.figures});
  }
  for (TierChoice& choice : choices)
    if (const auto& limit = limits[static_cast<std::size_t>(choice.kind)])
      choice.capacity = std::min(choice.capacity, *limit);
  std::erase_if(choices, [](const TierChoice& choice) { return choice.capacity == 0; });
  return choices;
}

double move_time_per_byte(const Figures& from, const Figures& to) {
  const double slower = std::min(from.read_bandwidth > 0 ? from.read_bandwidth : to.write_bandwidth,
                                 to.write_bandwidth > 0 ? to.write_bandwidth : from.read_bandwidth);
  if (slower <= 0) return 0;
  // One thread copies: at most what its outstanding lines fetch.
  const double latency = from.read_latency > 0 ? from.read_latency : to.write_latency;
  const double one_core = latency > 0 ? k_prefetch_lines * k_line_bytes / latency * 1e9 : slower;
  return k_move_over_copy * 1e9 / std::min(slower, one_core);
}

} // namespace omptier
