// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks of a job side by side: what each held and accessed of every site. Collected profile by
// profile while they are joined; repeats of one rank are averaged.
#pragma once

#include "analysis/aggregate.hpp"

#include <map>
#include <span>

namespace omptier {

class RankTable {
public:
  // parts: by number of the site so far; the last is of the samples in no object.
  void add(const Profile& profile, std::span<const RankPart> parts);
  // Fills ranks and each site's by_rank if there are several ranks. Before sites are sorted.
  void finish(ProfileSummary& summary);

private:
  struct Rank {
    RankSummary summary;
    std::vector<RankPart> sites;
  };
  std::map<std::uint64_t, Rank> ranks_;
};

// How far the rank with most is above the mean of all: 1 = balanced, the number of ranks = one has
// everything, 0 = there is nothing. bytes: compares bytes, else weights.
struct Imbalance {
  double factor = 0;
  std::uint64_t rank = 0; // with most
};
Imbalance imbalance(const ProfileSummary& summary, std::span<const RankPart> parts, bool bytes);

} // namespace omptier
