// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See needs.hpp.
#include "advisor/needs.hpp"

#include <algorithm>

namespace omptier {
namespace {

std::vector<std::uint64_t> moments_of_change(const Workload& workload) {
  std::vector<std::uint64_t> cuts;
  for (const SiteDemand& site : workload.sites)
    for (const LiveStretch& stretch : site.live) {
      cuts.push_back(stretch.begin);
      cuts.push_back(stretch.end);
    }
  std::ranges::sort(cuts);
  const auto repeats = std::ranges::unique(cuts);
  cuts.erase(repeats.begin(), repeats.end());
  return cuts;
}

} // namespace

Needs::Needs(const Workload& workload) {
  const std::vector<std::uint64_t> cuts = moments_of_change(workload);
  const auto piece = [&](std::uint64_t time) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(cuts, time) - cuts.begin());
  };
  for (std::size_t cut = 1; cut < cuts.size(); ++cut)
    lengths_.push_back(static_cast<double>(cuts[cut] - cuts[cut - 1]));
  if (lengths_.empty()) lengths_.push_back(1);
  for (const SiteDemand& site : workload.sites) {
    peaks_.push_back(site.peak_bytes());
    auto& stays = stays_.emplace_back();
    for (const LiveStretch& stretch : site.live)
      stays.push_back({piece(stretch.begin), piece(stretch.end), stretch.bytes});
  }
}

} // namespace omptier
