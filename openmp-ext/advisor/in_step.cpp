// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See in_step.hpp.
#include "advisor/in_step.hpp"

#include "advisor/together.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace omptier {
namespace {

using Parts = std::vector<std::size_t>; // of one array: ranges of the same blocks

// Of an array's lines, by memory; and the streamed ones of all.
struct LinesIn {
  std::map<std::size_t, double> memory;
  double all = 0, streamed = 0;
};
LinesIn lines_in(const Workload& workload, const Parts& parts,
                 std::span<const std::size_t> tier_of_site) {
  LinesIn lines;
  for (const std::size_t part : parts) {
    const Demand& demand = workload.sites[part].demand;
    lines.memory[tier_of_site[part]] += demand.total();
    lines.all += demand.total();
    lines.streamed += demand.of(Manner::streamed_load) + demand.of(Manner::streamed_store);
  }
  return lines;
}

// Beyond the time with each part where it is.
double more_in_step(LoopTimes& times, const Parts& parts, const LinesIn& lines,
                    std::span<const std::size_t> tier_of_site) {
  double more = 0, change = 0;
  for (const auto& [tier, count] : lines.memory) {
    for (const std::size_t part : parts)
      change += times.move(part, tier);
    more += count / lines.all * change;
  }
  for (const std::size_t part : parts)
    times.move(part, tier_of_site[part]);
  return more;
}

} // namespace

double lost_in_step(const Workload& workload, const std::vector<TierChoice>& tiers,
                    std::span<const std::size_t> tier_of_site, std::vector<std::size_t>* losing) {
  std::map<std::pair<std::size_t, std::vector<std::uint32_t>>, Parts> arrays;
  for (std::size_t part = 0; part < workload.sites.size(); ++part) {
    const SiteDemand& site = workload.sites[part];
    if (site.placeable && !site.small_blocks && !site.ranges.empty() &&
        tier_of_site[part] != Placement::k_nowhere)
      arrays[{site.site, site.blocks}].push_back(part);
  }
  std::erase_if(arrays, [](const auto& array) { return array.second.size() < 2; });
  if (arrays.empty()) return 0;
  PlacementTimes placed(workload, tiers, tier_of_site);
  double lost = 0;
  for (const auto& [array, parts] : arrays) {
    const LinesIn lines = lines_in(workload, parts, tier_of_site);
    if (lines.memory.size() < 2 || !(lines.streamed > 0)) continue;
    const double more = more_in_step(placed.times, parts, lines, tier_of_site);
    if (!(more > 0)) continue;
    lost += more * lines.streamed / lines.all;
    if (losing != nullptr) losing->push_back(parts.front());
  }
  return lost / std::sqrt(std::max(1.0, double(workload.threads.most())));
}

} // namespace omptier
