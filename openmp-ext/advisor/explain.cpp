// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reasons from demand.
#include "advisor/explain.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {
namespace {

constexpr double k_mostly = 0.6;         // of the accesses: from here on called "mostly"
constexpr double k_least_cached = 0.005; // least that is mentioned
constexpr double k_best_alone = 0.99;    // of a site's time: less is worth a word
constexpr double k_least_first = 0.1;    // of a site's time, for first touch

double part(const Demand& demand, Manner a, Manner b) {
  const double total = demand.total();
  return total > 0 ? (demand.of(a) + demand.of(b)) / total : 0;
}

std::string cached_text(const SiteDemand& demand) {
  if (demand.cached < k_least_cached) return {};
  return ", " + format_percent(demand.cached) + " (" + format_percent(demand.cached_low) + " to " +
         format_percent(demand.cached_high) +
         ") of that from a cache, which no placement makes faster";
}

bool is_all_cached(const SiteDemand& demand) {
  return demand.cached > 1 - k_least_cached;
}

// "mostly scattered loads", as much of it as is known.
std::string manner_text(const SiteDemand& site) {
  const Demand& demand = site.demand;
  if (demand.total() <= 0) return "hardly accessed";
  if (!site.knows_streams) return "in a manner that was not seen";
  const double written = site.written, streamed = streamed_part(demand);
  const bool both = written >= k_read_mostly && written <= 1 - k_read_mostly;
  const bool one_kind = std::max(streamed, 1 - streamed) >= k_mostly;
  if (!site.knows_writes || (both && one_kind))
    return std::string("mostly ") + (streamed >= 0.5 ? "streamed " : "scattered ") +
           (site.knows_writes ? "loads and stores" : "accesses");
  constexpr const char* names[] = {"scattered loads", "streamed loads", "scattered stores",
                                   "streamed stores"};
  const auto most = std::ranges::max_element(demand.accesses);
  const double share = *most / demand.total();
  return std::string(share >= k_mostly ? "mostly " : "many ") +
         names[most - demand.accesses.begin()];
}

// The room for a copy that a growing container needs; "" if none.
std::string growing_text(const SiteDemand& demand) {
  if (!demand.blocks.empty() || demand.growing == 0 || demand.growing < demand.peak_bytes() / 20)
    return {};
  return "; " + format_size(demand.growing) + " of these bytes only for " +
         format_duration(double(demand.growing_nanoseconds)) +
         ", as old copies while it grows (none if it reserves its size)";
}

// Where the clears of new pages weigh: their part of the site's time in the slowest kind.
std::string first_touch_text(const Workload& workload, const TierChoice& slowest, std::size_t site,
                             double time) {
  const double part = first_touch_time(workload.sites[site], slowest, workload.threads) / time;
  return part < k_least_first
             ? ""
             : ", where " + format_percent(part, 0) + " of that is its pages' first touch";
}

} // namespace

double streamed_part(const Demand& demand) {
  return part(demand, Manner::streamed_load, Manner::streamed_store);
}

const char* noun_of(Measure measure) {
  switch (measure) {
  case Measure::time:
    return "time";
  case Measure::accesses:
    return "accesses";
  case Measure::misses:
    return "misses";
  }
  return "";
}

std::uint64_t all_peaks(const Workload& workload) {
  std::uint64_t bytes = 0;
  for (const SiteDemand& site : workload.sites)
    bytes += site.peak_bytes();
  return bytes;
}

std::string seen_text(const Workload& workload, std::size_t site, std::uint64_t all_bytes) {
  const SiteDemand& demand = workload.sites[site];
  const double of_bytes = static_cast<double>(demand.peak_bytes()) /
                          static_cast<double>(std::max<std::uint64_t>(all_bytes, 1));
  std::string text = format_percent(demand.share) + " (" + format_percent(demand.share_low) +
                     " to " + format_percent(demand.share_high) + ") of " +
                     noun_of(workload.measure) + " on " + format_percent(of_bytes) +
                     " of the bytes" + cached_text(demand);
  if (!is_all_cached(demand))
    text += (demand.cached < k_least_cached ? ", " : ", the rest ") + manner_text(demand);
  return text;
}

std::string reason_for(const Workload& workload, const std::vector<TierChoice>& tiers,
                       const CostTable& costs, std::size_t site, std::size_t tier,
                       std::uint64_t all_bytes) {
  const SiteDemand& demand = workload.sites[site];
  std::string text = seen_text(workload, site, all_bytes);
  const std::string growing = growing_text(demand);
  if (tier == Placement::k_nowhere) return text + "; no memory has room for it" + growing;
  if (is_all_cached(demand)) return text + growing;
  const auto& row = costs[site];
  const std::size_t slowest = static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
  if (slowest != tier && row[slowest] > 0) {
    const double saved = (1 - row[tier] / row[slowest]) * (1 - demand.cached); // costs: the rest's
    text += "; " + std::string(title_of(tiers[tier].kind)) + " saves " +
            (tiers[tier].estimated || tiers[slowest].estimated ? "an estimated " : "") +
            format_percent(saved, saved < 0.01 ? 1 : 0) + " of its time against " +
            std::string(title_of(tiers[slowest].kind)) +
            first_touch_text(workload, tiers[slowest], site, row[slowest]);
  }
  return text + growing;
}

std::string better_alone_text(const std::vector<TierChoice>& tiers, const std::vector<double>& row,
                              std::size_t tier) {
  const auto best = static_cast<std::size_t>(std::ranges::min_element(row) - row.begin());
  return tier < best && row[best] < k_best_alone * row[tier]
             ? "; alone it would be faster in " + std::string(title_of(tiers[best].kind)) +
                   ", but not beside what its loops access too"
             : "";
}

} // namespace omptier
