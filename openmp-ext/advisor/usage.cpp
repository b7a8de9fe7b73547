// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Capacity in use over time.
#include "advisor/usage.hpp"

#include <algorithm>

namespace omptier {

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

Usage::Usage(std::vector<std::uint64_t> cuts, std::uint64_t capacity)
    : cuts_(std::move(cuts)), used_(cuts_.size(), 0), capacity_(capacity) {}

// use(index of the piece, bytes of the site alive in it)
template <typename Use> void Usage::for_each_piece(const SiteDemand& site, Use use) const {
  for (const LiveStretch& stretch : site.live) {
    auto at = std::ranges::lower_bound(cuts_, stretch.begin) - cuts_.begin();
    for (; at < std::ssize(cuts_) && cuts_[static_cast<std::size_t>(at)] < stretch.end; ++at)
      use(static_cast<std::size_t>(at), stretch.bytes);
  }
}

std::uint64_t Usage::shortage(const SiteDemand& site) const {
  std::uint64_t worst = 0;
  for_each_piece(site, [&](std::size_t piece, std::uint64_t bytes) {
    const std::uint64_t wanted = used_[piece] + bytes;
    if (wanted > capacity_) worst = std::max(worst, wanted - capacity_);
  });
  return worst;
}

bool Usage::fits(const SiteDemand& site) const {
  return shortage(site) == 0;
}

void Usage::add(const SiteDemand& site) {
  for_each_piece(site, [&](std::size_t piece, std::uint64_t bytes) { used_[piece] += bytes; });
}

void Usage::remove(const SiteDemand& site) {
  for_each_piece(site, [&](std::size_t piece, std::uint64_t bytes) { used_[piece] -= bytes; });
}

std::uint64_t Usage::peak() const {
  return used_.empty() ? 0 : *std::ranges::max_element(used_);
}

bool Usage::is_consistent() const {
  return peak() <= capacity_;
}

} // namespace omptier
