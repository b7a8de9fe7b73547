// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See site_ranges.hpp.
#include "advisor/site_ranges.hpp"

#include "advisor/site_blocks.hpp"
#include "base/rounding.hpp"
#include "base/text.hpp"
#include "plan/plan.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace omptier {
namespace {

constexpr std::size_t k_most_sliced = 24;       // sites
constexpr double k_least_worth = 0.002;         // of all time, for a site that is sliced
constexpr std::uint64_t k_least_samples = 64;   // of a site whose hot ranges are believed
constexpr double k_most_hot = 0.7;              // of a block; even heat looks like 0.8 by chance
constexpr std::size_t k_most_hot_ranges = 8;    // if more are hot, they are one part
constexpr std::size_t k_most_ranges = Plan::k_most_parts / 2;
constexpr std::uint64_t k_huge_page = std::uint64_t{2} << 20;
constexpr std::uint64_t k_small_run = std::uint64_t{64} << 10;

// Runs of huge pages where the block has many of them.
std::uint64_t run_unit(std::uint64_t block_bytes) {
  return block_bytes >= 16 * k_huge_page ? k_huge_page : k_small_run;
}

std::uint64_t length_of(const std::vector<ByteRange>& ranges) {
  std::uint64_t sum = 0;
  for (const ByteRange& range : ranges)
    sum += range.end - range.begin;
  return sum;
}

void append(std::vector<ByteRange>& ranges, ByteRange more) {
  if (more.begin >= more.end) return;
  if (!ranges.empty() && ranges.back().end == more.begin)
    ranges.back().end = more.end;
  else
    ranges.push_back(more);
}

// A part of `whole` with so much of its bytes and of its accesses.
SiteDemand range_part(const SiteDemand& whole, std::vector<ByteRange> ranges, double accesses) {
  const double bytes = static_cast<double>(length_of(ranges)) /
                       static_cast<double>(whole.ranges.empty() ? whole.block_bytes
                                                                 : length_of(whole.ranges));
  SiteDemand part = whole.scaled(accesses);
  part.live = whole.live;
  for (LiveStretch& stretch : part.live)
    stretch.bytes = static_cast<std::uint64_t>(static_cast<double>(stretch.bytes) * bytes);
  part.new_pages = {whole.new_pages.always * bytes, whole.new_pages.reused * bytes};
  part.growing = 0;
  part.ranges = std::move(ranges);
  return part;
}

// Which slices of a site lie in which tier.
struct Slices {
  std::vector<unsigned> in_tier; // by tier
  unsigned nowhere = 0;

  std::size_t tiers_used() const {
    return static_cast<std::size_t>(std::ranges::count_if(in_tier, [](auto n) { return n > 0; }));
  }
  std::size_t slowest() const {
    std::size_t tier = in_tier.size() - 1;
    while (tier > 0 && in_tier[tier] == 0)
      --tier;
    return tier;
  }
  // A share is between two: of the others, the faster goes to the next slower one, or that further
  // down if fewer slices move then.
  void keep_two() {
    while (tiers_used() > 2) {
      std::vector<std::size_t> used;
      for (std::size_t tier = 0; tier < in_tier.size(); ++tier)
        if (in_tier[tier] > 0) used.push_back(tier);
      const std::size_t from = in_tier[used[0]] <= in_tier[used[1]] ? 0 : 1;
      in_tier[used[from + 1]] += std::exchange(in_tier[used[from]], 0);
    }
  }
};

// Ranges by tier, alternating. The slowest tier takes what rounding leaves: it holds the block
// before its parts move. Each period has its fast ranges later than the one before: threads that
// start at the periods' begins reach them in turn, so all memories are busy at the same time.
std::vector<std::vector<ByteRange>> alternate(const SiteDemand& site, const Slices& slices,
                                              unsigned threads) {
  const std::vector<ByteRange> whole =
      site.ranges.empty() ? std::vector<ByteRange>{{0, site.block_bytes}} : site.ranges;
  const std::size_t home = slices.slowest(), fast = slices.tiers_used() - 1;
  const std::uint64_t unit = run_unit(site.block_bytes);
  const std::uint64_t all = length_of(whole);
  const std::uint64_t of_block = k_most_ranges * all / std::max(all, site.block_bytes);
  const std::uint64_t most =
      std::max<std::uint64_t>(1, std::min<std::uint64_t>(of_block / fast, all / (4 * unit)));
  const std::uint64_t periods = site.small_blocks ? 1 : std::clamp<std::uint64_t>(threads, 1, most);
  std::vector<std::vector<ByteRange>> ranges(slices.in_tier.size());
  // What rounding took from a run is given to the next.
  std::vector<std::uint64_t> given(slices.in_tier.size());
  std::uint64_t seen = 0;
  for (const ByteRange& range : whole) {
    const std::uint64_t here =
        std::max<std::uint64_t>(1, periods * (range.end - range.begin) / std::max(all, unit));
    // In whole units: a run that begins or ends within one loses it.
    const auto begin_of = [&](std::uint64_t period) {
      const std::uint64_t at = range.begin + (range.end - range.begin) * period / here;
      return period == 0 || period == here ? at : std::max(range.begin, round_down(at, unit));
    };
    for (std::uint64_t period = 0; period < here; ++period) {
      std::uint64_t at = begin_of(period);
      const std::uint64_t end = begin_of(period + 1);
      seen += end - at;
      std::vector<std::uint64_t> runs(ranges.size());
      for (std::size_t tier = 0; tier < ranges.size(); ++tier)
        if (slices.in_tier[tier] > 0 && tier != home)
          runs[tier] = round_down(seen * slices.in_tier[tier] / k_slices - given[tier], unit);
      const std::uint64_t fast_bytes = std::reduce(runs.begin(), runs.end());
      const std::uint64_t slow_bytes = end - at - std::min(fast_bytes, end - at);
      std::uint64_t next = at + slow_bytes * period / std::max<std::uint64_t>(here - 1, 1);
      for (std::size_t tier = 0; tier < ranges.size(); ++tier) {
        const std::uint64_t begin = std::max(round_up(at, unit), round_down(next, unit));
        if (runs[tier] == 0 || begin >= end) continue;
        append(ranges[home], {at, begin});
        at = next = std::min(begin + runs[tier], end);
        append(ranges[tier], {begin, at});
        given[tier] += at - begin;
      }
      append(ranges[home], {at, end});
    }
  }
  return ranges;
}

void append_divided(Workload& workload, std::vector<std::size_t>& tiers, const SiteDemand& site,
                    const Slices& slices, unsigned threads) {
  const auto ranges = alternate(site, slices, threads);
  const auto all = static_cast<double>(length_of(site.ranges.empty()
                                                     ? std::vector<ByteRange>{{0, site.block_bytes}}
                                                     : site.ranges));
  for (std::size_t tier = 0; tier < ranges.size(); ++tier) {
    if (ranges[tier].empty()) continue;
    const double part = static_cast<double>(length_of(ranges[tier])) / all;
    workload.sites.push_back(range_part(site, ranges[tier], part));
    tiers.push_back(tier);
  }
}

struct Heat {
  ByteRange range;
  double share = 0;
};

// In whole runs, in order; neighbours that rounding joined are one.
std::vector<Heat> in_runs(std::vector<HotRange> hot, std::uint64_t bytes) {
  const std::uint64_t unit = run_unit(bytes);
  const auto at = [&](double part) {
    return static_cast<std::uint64_t>(part * static_cast<double>(bytes));
  };
  std::ranges::sort(hot, {}, &HotRange::begin);
  std::vector<Heat> list;
  for (const HotRange& from : hot) {
    const ByteRange range{round_down(at(from.begin), unit),
                          std::min(round_up(at(from.end), unit), bytes)};
    if (!list.empty() && range.begin <= list.back().range.end) {
      list.back().range.end = range.end;
      list.back().share += from.share;
    } else {
      list.push_back({range, from.share});
    }
  }
  return list;
}

// Empty when the ranges are too many, or nothing is left beside them.
std::vector<SiteDemand> hot_parts(const SiteDemand& whole, const std::vector<HotRange>& hot) {
  const std::vector<Heat> list = in_runs(hot, whole.block_bytes);
  std::vector<ByteRange> ranges;
  double share = 0;
  for (const Heat& heat : list) {
    ranges.push_back(heat.range);
    share += heat.share;
  }
  std::vector<ByteRange> rest = without(ranges, whole.block_bytes);
  std::vector<SiteDemand> parts;
  if (rest.empty() || ranges.size() > k_most_ranges) return parts;
  if (list.size() > k_most_hot_ranges)
    parts.push_back(range_part(whole, std::move(ranges), std::min(share, 1.0)));
  else
    for (const Heat& heat : list)
      parts.push_back(range_part(whole, {heat.range}, heat.share));
  parts.push_back(range_part(whole, std::move(rest), std::max(0.0, 1 - share)));
  return parts;
}

std::string ranges_in_words(const SiteDemand& site) {
  if (site.small_blocks) return format_percent(part_of_block(site), 0) + " of its blocks";
  if (site.ranges.size() == 1)
    return "bytes " + format_size(site.ranges[0].begin) + " to " +
           format_size(site.ranges[0].end) + (site.instances == 1 ? "" : " of each block");
  return format_percent(part_of_block(site), 0) + " of " +
         (site.instances == 1 ? "it" : "each block") + " in " + std::to_string(site.ranges.size()) +
         " ranges";
}

} // namespace

double part_of_block(const SiteDemand& site) {
  return site.ranges.empty()
             ? 1
             : static_cast<double>(length_of(site.ranges)) /
                   static_cast<double>(std::max<std::uint64_t>(site.block_bytes, 1));
}

std::uint64_t bytes_to_divide(const SiteSummary& site) {
  const bool same = site.objects > 0 && site.bytes_total == site.objects * site.bytes_largest;
  // The memory of a divided block is not kept for the next one: its pages are new again, and its
  // parts are moved again.
  if (site.bytes_total > 2 * site.bytes_peak) return 0;
  return same && site.kind == SiteKind::allocation && site.bytes_largest >= k_least_divided
             ? site.bytes_largest
             : 0;
}

std::uint64_t small_bytes_to_divide(const SiteSummary& site) {
  const bool all_small = site.bytes_largest < k_least_large;
  return all_small && site.bytes_peak >= k_least_divided ? site.bytes_peak : 0;
}

SiteDemand some_bytes(const SiteDemand& whole, const std::vector<ByteRange>& bytes) {
  const std::vector<ByteRange> block = {{0, whole.block_bytes}};
  std::vector<ByteRange> both;
  const std::vector<ByteRange>& all = whole.ranges.empty() ? block : whole.ranges;
  for (const ByteRange& one : all)
    for (const ByteRange& other : bytes)
      append(both, {std::max(one.begin, other.begin), std::min(one.end, other.end)});
  const double part = static_cast<double>(length_of(both)) / static_cast<double>(length_of(all));
  return range_part(whole, std::move(both), part);
}

std::vector<ByteRange> without(const std::vector<ByteRange>& others, std::uint64_t bytes) {
  std::vector<ByteRange> rest;
  std::uint64_t at = 0;
  for (const ByteRange& range : others) {
    if (range.begin > at) rest.push_back({at, range.begin});
    at = range.end;
  }
  if (at < bytes) rest.push_back({at, bytes});
  return rest;
}

std::vector<SiteDemand> divide_by_heat(SiteDemand whole, const SiteSummary& site) {
  const std::vector<HotRange> hot = site.offsets.hot_ranges();
  std::vector<SiteDemand> parts;
  if (whole.block_bytes > 0 && whole.by_plan && whole.blocks.empty() && !whole.small_blocks &&
      site.samples >= k_least_samples && fraction_of(hot) <= k_most_hot)
    parts = hot_parts(whole, hot);
  if (parts.empty()) parts.push_back(std::move(whole));
  return parts;
}

Sliced slice(const Workload& workload, const CostTable& costs) {
  double all = 0;
  std::vector<double> worth;
  for (const auto& row : costs) {
    const double least = row.empty() ? 0 : std::ranges::min(row);
    worth.push_back(row.empty() ? 0 : std::ranges::max(row) - least);
    all += least;
  }
  std::vector<std::size_t> order;
  for (std::size_t site = 0; site < worth.size(); ++site)
    if (const SiteDemand& demand = workload.sites[site];
        demand.block_bytes > 0 && demand.is_free() && worth[site] > k_least_worth * all)
      order.push_back(site);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t site) { return worth[site]; });
  if (order.size() > k_most_sliced) order.resize(k_most_sliced);
  std::ranges::sort(order);

  Sliced sliced;
  sliced.workload.loop_work = workload.loop_work;
  sliced.workload.rest = workload.rest;
  sliced.workload.threads = workload.threads;
  sliced.workload.measure = workload.measure;
  for (std::size_t site = 0; site < worth.size(); ++site) {
    const bool whole = !std::ranges::binary_search(order, site);
    SiteDemand slice = whole ? workload.sites[site] : workload.sites[site].scaled(1.0 / k_slices);
    slice.by_region = {}; // often the most of its memory
    for (unsigned i = 0; i < (whole ? 1 : k_slices); ++i) {
      sliced.workload.sites.push_back(slice);
      sliced.from.push_back(site);
    }
  }
  return sliced;
}

Workload join_slices(const Workload& whole, const Sliced& sliced,
                     std::vector<std::size_t>& tier_of_site) {
  Workload joined = whole;
  joined.sites.clear();
  std::vector<std::size_t> tiers;
  const std::size_t all_tiers = 1 + std::ranges::max(tier_of_site, {}, [](std::size_t tier) {
    return tier == Placement::k_nowhere ? 0 : tier;
  });
  for (std::size_t at = 0; at < tier_of_site.size();) {
    const std::size_t site = sliced.from[at];
    Slices slices{std::vector<unsigned>(all_tiers), 0};
    const std::size_t first = tier_of_site[at];
    for (; at < tier_of_site.size() && sliced.from[at] == site; ++at)
      if (tier_of_site[at] == Placement::k_nowhere)
        ++slices.nowhere;
      else
        ++slices.in_tier[tier_of_site[at]];
    if (slices.nowhere == 0 && slices.tiers_used() > 1) {
      if (whole.sites[site].small_blocks) slices.keep_two();
      append_divided(joined, tiers, whole.sites[site], slices, whole.threads.most());
      continue;
    }
    joined.sites.push_back(whole.sites[site]);
    tiers.push_back(slices.nowhere > 0 ? Placement::k_nowhere : first);
  }
  tier_of_site = std::move(tiers);
  return joined;
}

void join_ranges(Workload& workload, std::vector<std::size_t>& tier_of_site) {
  std::vector<SiteDemand> sites;
  std::vector<std::size_t> tiers;
  for (std::size_t i = 0; i < workload.sites.size(); ++i) {
    SiteDemand& next = workload.sites[i];
    std::size_t same = sites.size();
    for (std::size_t j = sites.size(); !next.ranges.empty() && j-- > 0;)
      if (sites[j].site == next.site && sites[j].blocks == next.blocks &&
          tiers[j] == tier_of_site[i])
        same = j;
    if (same == sites.size()) {
      sites.push_back(std::move(next));
      tiers.push_back(tier_of_site[i]);
      continue;
    }
    join_demands(sites[same], next);
    std::vector<ByteRange> all = std::move(sites[same].ranges);
    all.insert(all.end(), next.ranges.begin(), next.ranges.end());
    std::ranges::sort(all, {}, &ByteRange::begin);
    sites[same].ranges.clear();
    for (const ByteRange& range : all)
      append(sites[same].ranges, range);
  }
  for (SiteDemand& site : sites) {
    if (length_of(site.ranges) == site.block_bytes) site.ranges.clear();
    if (!site.ranges.empty()) site.label += ", " + ranges_in_words(site);
  }
  workload.sites = std::move(sites);
  tier_of_site = std::move(tiers);
}

} // namespace omptier
