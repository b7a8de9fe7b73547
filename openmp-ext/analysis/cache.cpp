// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See cache.hpp.
#include "analysis/cache.hpp"

#include "analysis/share_intervals.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace omptier {
namespace {

constexpr double k_fastest_rate = 16;      // bytes a ns that one core loads
constexpr unsigned k_least_watches = 4;    // for a figure
constexpr double k_widest_interval = 0.5;  // the same
constexpr std::uint32_t k_least_shown = 3; // that show how far an instruction went
constexpr double k_in_use = 0.1;           // of the weight of the most used object of a site

// Bytes of the used objects, without the parts of them that are not used.
double bytes_in_use(const SiteSummary& site) {
  double most = 0, bytes = 0;
  for (const InstanceSummary& object : site.instances)
    most = std::max(most, object.weight);
  if (most <= 0) return 0; // not logged one by one
  for (const InstanceSummary& object : site.instances)
    if (object.weight >= k_in_use * most) bytes += double(object.bytes);
  return std::min(bytes, double(site.bytes_peak)) * fraction_of(site.offsets.hot_ranges());
}

} // namespace

AccessLevel level_of(const AddressReuse& reuse, const CacheSizes& caches,
                     const WatchedSite& site) {
  const double passed = double{reuse.until_next_use} * k_fastest_rate; // at most
  const auto own = double(caches.own), all = double(caches.all);
  if (passed > 0 && passed <= own) return AccessLevel::cache;
  const bool in_order =
      site.pattern == PatternKind::sequential || site.pattern == PatternKind::strided;
  if (!in_order || all <= 0 || site.bytes < 2 * all) return AccessLevel::unknown;
  if (passed > 0 && passed < 2 * all) return AccessLevel::unknown;
  // The accesses stay in one place.
  if (reuse.samples >= k_least_shown && double(reuse.range) < all / 2) return AccessLevel::unknown;
  return AccessLevel::memory;
}

void WatchCount::add(AccessLevel level) {
  ++all;
  cache += level == AccessLevel::cache ? 1 : 0;
  memory += level == AccessLevel::memory ? 1 : 0;
}

bool WatchCount::is_enough() const {
  if (all < k_least_watches || cache + memory == 0) return false;
  const Share of = share();
  return of.high - of.low <= k_widest_interval;
}

Share WatchCount::share() const {
  if (cache + memory == 0) return {0, 0, 1};
  const double count = all, value = double(cache) / double(cache + memory);
  return {value, std::min(value, wilson_interval(cache / count, count).low),
          std::max(value, wilson_interval((count - memory) / count, count).high)};
}

void add_cache_shares(ProfileSummary& summary, std::span<const std::vector<ReuseAt>> runs) {
  std::map<std::uint32_t, WatchCount> sites;
  std::map<std::pair<std::uint32_t, std::uint32_t>, WatchCount> parts; // by site and region
  for (std::size_t run = 0; run < runs.size(); ++run)
    for (const ReuseAt& at : runs[run]) {
      if (at.reuse->until_next_use <= 0 && at.reuse->samples == 0) continue; // it did not run
      const SiteSummary& site = summary.sites[at.site];
      const AccessLevel level = level_of(*at.reuse, summary.runs[run].caches,
                                         {site.pattern.kind, bytes_in_use(site)});
      sites[at.site].add(level);
      parts[{at.site, at.region}].add(level);
    }
  const auto set = [](AccessWeights& accesses, const WatchCount& count) {
    if (!count.is_enough()) return;
    accesses.from_cache = accesses.total() * count.cache / count.all;
    accesses.from_memory = accesses.total() * count.memory / count.all;
  };
  for (const auto& [number, count] : sites) {
    SiteSummary& site = summary.sites[number];
    set(site.accesses, count);
    site.level_share = count.is_enough() ? double(count.cache + count.memory) / count.all : 0;
    site.cache = count.share();
  }
  for (const auto& [key, count] : parts)
    for (SitePart& part : summary.sites[key.first].by_region)
      if (part.of == key.second) set(part.accesses, count);
}

} // namespace omptier
