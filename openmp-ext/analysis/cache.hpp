// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which part of a site's accesses a cache served, from watched addresses (sampling/reuse.hpp). A
// watch counts only where the result does not depend on what else runs on the machine: cache   the
// address was used again so soon that even at a core's highest rate all that passed
//           meanwhile fits the thread's part of the caches
// memory  the instruction passes over the object in order, the object is twice the last-level
//           cache, and the address was not used again before twice the cache could have passed
// Between the two it depends on the other users of a shared cache. Random accesses to something
// large always lie there: how much of it the cache holds is not known.
#pragma once

#include "analysis/aggregate.hpp"
#include "objects/reuse.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace omptier {

struct ReuseAt {
  const AddressReuse* reuse;
  std::uint32_t site, region;
};

struct WatchedSite {
  PatternKind pattern = PatternKind::unknown;
  double bytes = 0; // that are in use
};

AccessLevel level_of(const AddressReuse& reuse, const CacheSizes& caches, const WatchedSite& site);

struct WatchCount {
  unsigned all = 0, cache = 0, memory = 0;
  void add(AccessLevel level);
  // There are enough watches, and most of them decide.
  bool is_enough() const;
  // Share that a cache served; watches that decide nothing widen the interval both ways.
  Share share() const;
};

// Only for profiles of time: sets the cache shares and the weights from cache and memory of sites
// and of their parts by region. runs: as ProfileSummary::runs.
void add_cache_shares(ProfileSummary& summary, std::span<const std::vector<ReuseAt>> runs);

} // namespace omptier
