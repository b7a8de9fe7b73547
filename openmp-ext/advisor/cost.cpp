// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cost formulas of cost.hpp.
#include "advisor/cost.hpp"

#include "platform/usual_figures.hpp"

#include <algorithm>

namespace omptier {
namespace {

// Time of moving pages over that of copying (and clearing) them.
constexpr double k_move_over_copy = 4, k_huge_move_over_copy = 1.6;
constexpr std::uint64_t k_huge_page = std::uint64_t{2} << 20;

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
  const FigureEstimates estimates(platform.tiers);
  std::vector<TierChoice> choices;
  for (const Tier& tier : platform.tiers) {
    if (tier.kind == MemoryKind::unknown) continue;
    const auto same = std::ranges::find(choices, tier.kind, &TierChoice::kind);
    if (same != choices.end())
      same->capacity += tier.capacity;
    else
      choices.push_back({tier.kind, tier.capacity, estimates.estimate(tier.kind, tier.figures),
                         !are_known(tier.figures)});
  }
  for (TierChoice& choice : choices)
    if (const auto& limit = limits[static_cast<std::size_t>(choice.kind)])
      choice.capacity = std::min(choice.capacity, *limit);
  std::erase_if(choices, [](const TierChoice& choice) { return choice.capacity == 0; });
  return choices;
}

Figures figures_recorded_in(const Platform& platform) {
  const Tier* tier = platform.tier(MemoryKind::dram);
  if (tier == nullptr && !platform.tiers.empty()) tier = &platform.tiers.front();
  if (tier == nullptr) return {};
  return FigureEstimates(platform.tiers).estimate(tier->kind, tier->figures);
}

double move_time(std::uint64_t bytes, const Figures& from, const Figures& to) {
  const double load = access_time(Manner::streamed_load, from, 1);
  const double store = access_time(Manner::streamed_store, to, 1);
  const double line = bytes < k_huge_page ? k_move_over_copy * (load + store)
                                          : k_huge_move_over_copy * (load + 2 * store);
  return line * static_cast<double>(bytes) / k_line_bytes;
}

} // namespace omptier
