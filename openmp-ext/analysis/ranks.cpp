// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/ranks.hpp"

#include <algorithm>

namespace omptier {

void RankTable::add(const Profile& profile, std::span<const RankPart> parts) {
  Rank& rank = ranks_[profile.run.rank];
  rank.summary.rank = profile.run.rank;
  rank.summary.host = profile.run.host;
  rank.summary.profiles += 1;
  rank.summary.samples += profile.samples.size();
  if (profile.last_time > profile.run.start_time)
    rank.summary.nanoseconds =
        std::max(rank.summary.nanoseconds, profile.last_time - profile.run.start_time);
  rank.sites.resize(std::max(rank.sites.size(), parts.size() - 1));
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    bytes += parts[i].bytes_peak;
    rank.summary.all.weight += parts[i].weight;
    if (i + 1 == parts.size()) break;
    rank.sites[i].weight += parts[i].weight;
    rank.sites[i].bytes_peak = std::max(rank.sites[i].bytes_peak, parts[i].bytes_peak);
  }
  rank.summary.all.bytes_peak = std::max(rank.summary.all.bytes_peak, bytes);
}

void RankTable::finish(ProfileSummary& summary) {
  if (ranks_.size() < 2) return;
  for (auto& [number, rank] : ranks_) {
    rank.sites.resize(summary.sites.size());
    const double runs = static_cast<double>(rank.summary.profiles);
    rank.summary.all.weight /= runs;
    for (std::size_t i = 0; i < rank.sites.size(); ++i) {
      rank.sites[i].weight /= runs;
      summary.sites[i].by_rank.push_back(rank.sites[i]);
    }
    summary.ranks.push_back(rank.summary);
  }
}

Imbalance imbalance(const ProfileSummary& summary, std::span<const RankPart> parts, bool bytes) {
  double most = 0, sum = 0;
  Imbalance result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double value = bytes ? static_cast<double>(parts[i].bytes_peak) : parts[i].weight;
    sum += value;
    if (value <= most) continue;
    most = value;
    result.rank = summary.ranks[i].rank;
  }
  if (sum > 0) result.factor = most * static_cast<double>(parts.size()) / sum;
  return result;
}

} // namespace omptier
