// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See site_blocks.hpp.
#include "advisor/site_blocks.hpp"

#include "advisor/evidence.hpp"
#include "analysis/blocks.hpp"
#include "analysis/shares.hpp"
#include "plan/plan.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace omptier {
namespace {

constexpr std::size_t k_most_single = 8; // if more blocks are hot, they are one part

bool can_be_divided(const SiteDemand& whole, const SiteSummary& site,
                    const ProfileSummary& summary) {
  if (site.hot_blocks.empty() || site.kind != SiteKind::allocation || !whole.by_plan ||
      whole.small_blocks || !site.blocks_by_one_thread || site.objects != site.blocks ||
      site.instances.size() != site.blocks)
    return false;
  const std::vector<Frame> frames = frames_of_runtime(site, summary.modules);
  const auto looks_the_same = [&](const SiteSummary& other) {
    return other.kind == SiteKind::allocation &&
           std::ranges::equal(frames_of_runtime(other, summary.modules), frames,
                              [](const Frame& one, const Frame& another) {
                                return one.module == another.module && one.offset == another.offset;
                              });
  };
  return std::ranges::count_if(summary.sites, looks_the_same) == 1;
}

class Live {
public:
  void add(std::uint64_t begin, std::uint64_t end, std::uint64_t bytes) {
    if (end <= begin) return;
    changes_[begin] += bytes; // unsigned sums wrap back
    changes_[end] -= bytes;
  }
  std::vector<LiveStretch> stretches() const {
    std::vector<LiveStretch> list;
    std::uint64_t bytes = 0;
    for (auto at = changes_.begin(); at != changes_.end(); ++at) {
      bytes += at->second;
      if (bytes > 0) list.push_back({at->first, std::next(at)->first, bytes});
    }
    return list;
  }

private:
  std::map<std::uint64_t, std::uint64_t> changes_;
};

double weight_in(const InstanceSummary& block, std::uint32_t region) {
  const auto at = std::ranges::find(block.by_region, region, &RegionWeight::region);
  return at != block.by_region.end() ? at->weight : 0;
}

} // namespace

bool are_of_the_same_blocks(const SiteDemand& one, const SiteDemand& other) {
  return one.site == other.site && one.blocks == other.blocks;
}

void join_demands(SiteDemand& one, const SiteDemand& other) {
  Live live;
  for (const SiteDemand* part : {&std::as_const(one), &other})
    for (const LiveStretch& stretch : part->live)
      live.add(stretch.begin, stretch.end, stretch.bytes);
  one.live = live.stretches();
  one.demand += other.demand;
  one.new_pages.always += other.new_pages.always;
  one.new_pages.reused += other.new_pages.reused;
  for (std::size_t i = 0; i < one.by_region.size() && i < other.by_region.size(); ++i)
    one.by_region[i].demand += other.by_region[i].demand;
  one.share = std::min(1.0, one.share + other.share);
  one.share_low = std::min(one.share, one.share_low + other.share_low);
  one.share_high = std::min(1.0, one.share_high + other.share_high);
}

std::vector<Frame> frames_of_runtime(const SiteSummary& site,
                                     const std::vector<ModuleInfo>& modules) {
  std::vector<Frame> frames = site.frames;
  if (frames.size() > 1)
    std::erase_if(frames, [&](const Frame& frame) { return modules[frame.module].system; });
  return frames.empty() ? site.frames : frames;
}

bool has_small_blocks(const SiteSummary& site) {
  return site.kind == SiteKind::allocation && site.by_malloc && site.objects > 0 &&
         site.bytes_total / site.objects < k_least_large;
}

namespace {

// Of whole blocks' bytes and share, the ranges' part.
void keep_to_ranges(SiteDemand& part, const SiteDemand& whole, const SiteSummary& site) {
  std::uint64_t bytes = 0;
  for (const ByteRange& range : whole.ranges)
    bytes += range.end - range.begin;
  for (LiveStretch& stretch : part.live)
    stretch.bytes = static_cast<std::uint64_t>(
        static_cast<double>(stretch.bytes) *
        share_of(static_cast<double>(bytes), static_cast<double>(whole.block_bytes)));
  for (double* share : {&part.share, &part.share_low, &part.share_high})
    *share *= share_of(whole.share, site.share.value);
}

} // namespace

SiteDemand some_blocks(const SiteDemand& whole, const ProfileSummary& summary,
                       std::vector<std::uint32_t> numbers) {
  const SiteSummary& site = summary.sites[whole.site];
  const auto is_part = [&](const InstanceSummary& block) {
    return std::ranges::binary_search(numbers, block.instance);
  };
  const auto is_whole = [&](const InstanceSummary& block) {
    return whole.blocks.empty() || std::ranges::binary_search(whole.blocks, block.instance);
  };
  SiteDemand part = whole;
  Live live;
  double weight = 0, all_weight = whole.blocks.empty() ? site.sampled_weight : 0;
  for (const InstanceSummary& block : site.instances) {
    if (!whole.blocks.empty() && is_whole(block)) all_weight += block.weight;
    if (!is_part(block)) continue;
    weight += block.weight;
    live.add(block.begin, std::max(block.end, block.begin + 1), block.bytes);
  }
  part.live = live.stretches();
  const Share share = share_of_blocks(summary, site, weight);
  part.share = share.value;
  part.share_low = std::max(0.0, std::min(share.low, share.value - summary.worst_error));
  part.share_high = std::min(1.0, std::max(share.high, share.value + summary.worst_error));
  part.demand *= share_of(weight, all_weight);
  for (RegionDemand& in : part.by_region) {
    const std::uint32_t region = region_around(summary, in.region);
    double here = 0, all = 0;
    for (const InstanceSummary& block : site.instances) {
      all += is_whole(block) ? weight_in(block, region) : 0;
      here += is_part(block) ? weight_in(block, region) : 0;
    }
    in.demand *= share_of(here, all);
  }
  const std::uint64_t all = whole.blocks.empty() ? site.blocks : whole.blocks.size();
  const double blocks =
      static_cast<double>(numbers.size()) / static_cast<double>(std::max<std::uint64_t>(all, 1));
  part.new_pages = {whole.new_pages.always * blocks, whole.new_pages.reused * blocks};
  if (!whole.ranges.empty()) keep_to_ranges(part, whole, site);
  part.instances = numbers.size();
  part.all_instances = site.blocks;
  part.blocks = std::move(numbers);
  return part;
}

std::vector<SiteDemand> divide_by_blocks(SiteDemand whole, const ProfileSummary& summary) {
  const SiteSummary& site = summary.sites[whole.site];
  std::vector<SiteDemand> parts;
  if (can_be_divided(whole, site, summary)) {
    std::vector<std::uint32_t> rest;
    for (const InstanceSummary& block : site.instances)
      if (!std::ranges::binary_search(site.hot_blocks, block.instance))
        rest.push_back(block.instance);
    if (site.hot_blocks.size() > k_most_single)
      parts.push_back(some_blocks(whole, summary, site.hot_blocks));
    else
      for (const std::uint32_t block : site.hot_blocks)
        parts.push_back(some_blocks(whole, summary, {block}));
    if (!rest.empty()) parts.push_back(some_blocks(whole, summary, std::move(rest)));
  }
  if (parts.empty()) parts.push_back(std::move(whole));
  return parts;
}

namespace {

// Whether each part of these blocks has its like, in the same tier, among the parts of those.
bool are_placed_alike(const Workload& workload, const std::vector<std::size_t>& tier_of_site,
                      std::size_t these, std::size_t those) {
  const auto& sites = workload.sites;
  for (std::size_t part = 0; part < sites.size(); ++part) {
    if (!are_of_the_same_blocks(sites[part], sites[these])) continue;
    bool found = false;
    for (std::size_t other = 0; other < sites.size() && !found; ++other)
      found = are_of_the_same_blocks(sites[other], sites[those]) &&
              tier_of_site[other] == tier_of_site[part] &&
              sites[other].ranges == sites[part].ranges;
    if (!found) return false;
  }
  return true;
}

// By site: the first of those that it is joined with, maybe itself.
std::vector<std::size_t> joined_with(const Workload& workload,
                                     const std::vector<std::size_t>& tier_of_site) {
  std::vector<std::size_t> first(workload.sites.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    const SiteDemand& next = workload.sites[i];
    first[i] = i;
    for (std::size_t j = 0; j < i && !next.blocks.empty() && first[i] == i; ++j)
      if (const SiteDemand& other = workload.sites[j];
          other.site == next.site && !other.blocks.empty() && tier_of_site[j] == tier_of_site[i] &&
          other.ranges == next.ranges && are_placed_alike(workload, tier_of_site, j, i))
        first[i] = first[j];
  }
  return first;
}

} // namespace

void join_blocks(Workload& workload, std::vector<std::size_t>& tier_of_site) {
  const std::vector<std::size_t> first = joined_with(workload, tier_of_site);
  std::vector<std::size_t> now_at(first.size());
  std::vector<SiteDemand> sites;
  std::vector<std::size_t> tiers;
  for (std::size_t i = 0; i < workload.sites.size(); ++i) {
    SiteDemand& next = workload.sites[i];
    if (first[i] != i) {
      SiteDemand& same = sites[now_at[first[i]]];
      join_demands(same, next);
      same.instances += next.instances;
      same.blocks.insert(same.blocks.end(), next.blocks.begin(), next.blocks.end());
      std::ranges::sort(same.blocks);
      continue;
    }
    now_at[i] = sites.size();
    sites.push_back(std::move(next));
    tiers.push_back(tier_of_site[i]);
  }
  for (SiteDemand& site : sites) {
    if (site.blocks.size() == site.all_instances) site.blocks.clear();
    if (!site.blocks.empty()) site.label += ", " + blocks_in_words(site.blocks);
  }
  workload.sites = std::move(sites);
  tier_of_site = std::move(tiers);
}

} // namespace omptier
