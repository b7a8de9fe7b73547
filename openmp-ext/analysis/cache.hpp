// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which part of a site's accesses a cache served, from watched addresses (sampling/reuse.hpp). A
// watch decides where whatever else runs on the machine makes no difference, else it is no
// evidence:
//   cache   the address was used again so soon that even at a core's highest rate all that passed
//           meanwhile fits what the thread has of the caches for itself
//   memory  the instruction passes over the object in order, the object is twice the last-level
//           cache, and the address was not used again before twice the cache could have passed
// Between the two lies what a shared cache may hold or not, as its other users leave room. Accesses
// at random to something large are always there: how much of it the cache holds is not known.
#pragma once

#include "analysis/aggregate.hpp"
#include "objects/reuse.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace omptier {

// A watch and where it belongs: summary numbers.
struct ReuseAt {
  const AddressReuse* reuse;
  std::uint32_t site, region;
};

// The site of one watch, as far as it matters.
struct WatchedSite {
  PatternKind pattern = PatternKind::unknown;
  double bytes = 0; // that are in use
};

AccessLevel level_of(const AddressReuse& reuse, const CacheSizes& caches, const WatchedSite& site);

// Watches of one site by what they say.
struct WatchCount {
  unsigned all = 0, cache = 0, memory = 0;
  void add(AccessLevel level);
  // Enough, and most of them decide.
  bool is_enough() const;
  // Of its accesses, from a cache: those that decide nothing widen the interval to both sides.
  Share share() const;
};

// Sets the cache shares and the weights from cache and from memory of sites and of their parts by
// region, of profiles of time. runs: as ProfileSummary::runs.
void add_cache_shares(ProfileSummary& summary, std::span<const std::vector<ReuseAt>> runs);

} // namespace omptier
