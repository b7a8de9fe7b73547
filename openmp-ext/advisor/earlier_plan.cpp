// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds each site's entries as the runtime does, and divides its demand as they do.
#include "advisor/earlier_plan.hpp"

#include "advisor/site_blocks.hpp"
#include "advisor/site_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace omptier {
namespace {

using Entries = std::vector<const PlanEntry*>; // in the plan's order

class EntriesOfSites {
public:
  EntriesOfSites(const Plan& plan, const ProfileSummary& summary) : summary_(summary) {
    for (const PlanEntry& entry : plan.entries) {
      if (!entry.region.empty() || entry.kinds.empty()) continue;
      if (!entry.symbol.empty())
        by_symbol_[{plan.modules[entry.symbol_module].identity, entry.symbol}].push_back(&entry);
      else
        by_frames_[places_of(entry.frames, plan.modules)].push_back(&entry);
    }
  }

  // Of a stack, those with most frames of its inner end (plan/site_matcher.hpp).
  Entries of(const SiteSummary& site) const {
    if (site.frames.empty()) return {};
    if (site.kind == SiteKind::variable) {
      const auto found =
          by_symbol_.find({summary_.modules[site.frames[0].module].identity, site.symbol});
      return found != by_symbol_.end() ? found->second : Entries{};
    }
    Places places = places_of(frames_of_runtime(site, summary_.modules), summary_.modules);
    for (; !places.empty(); places.pop_back())
      if (const auto found = by_frames_.find(places); found != by_frames_.end())
        return found->second;
    return {};
  }

private:
  using Places = std::vector<std::pair<std::string, std::uint64_t>>; // module's identity, offset

  template <typename Frames, typename Modules>
  static Places places_of(const Frames& frames, const Modules& modules) {
    Places places;
    for (const auto& frame : frames)
      places.emplace_back(modules[frame.module].identity, frame.offset);
    return places;
  }

  const ProfileSummary& summary_;
  std::map<Places, Entries> by_frames_;
  std::map<std::pair<std::string, std::string>, Entries> by_symbol_;
};

bool names(const PlanEntry& entry, std::uint32_t block) {
  return entry.instances.empty() ||
         std::ranges::any_of(entry.instances, [&](const InstanceRange& range) {
           return range.first <= block && block <= range.last;
         });
}

struct PartOfSite {
  SiteDemand demand;
  const PlanEntry* entry = nullptr; // none: the plan does not name it
};

// A block belongs to the first entry that names it.
std::vector<PartOfSite> divide_among(const Entries& entries, SiteDemand demand,
                                     const ProfileSummary& summary) {
  const SiteSummary& site = summary.sites[demand.site];
  std::vector<PartOfSite> parts;
  if (std::ranges::all_of(entries, [](auto* entry) { return entry->instances.empty(); }) ||
      (demand.blocks.empty() && site.instances.size() != site.blocks)) {
    const auto all =
        std::ranges::find_if(entries, [](auto* one) { return one->instances.empty(); });
    parts.push_back({std::move(demand), all != entries.end() ? *all : nullptr});
    return parts;
  }
  std::vector<std::uint32_t> rest = demand.blocks;
  if (rest.empty())
    for (const InstanceSummary& block : site.instances)
      rest.push_back(block.instance);
  std::ranges::sort(rest);
  const auto take = [&](const PlanEntry* entry, std::vector<std::uint32_t> blocks) {
    if (!blocks.empty()) parts.push_back({some_blocks(demand, summary, std::move(blocks)), entry});
  };
  for (const PlanEntry* entry : entries) {
    const auto others = std::ranges::stable_partition(
        rest, [&](std::uint32_t block) { return !names(*entry, block); });
    std::vector<std::uint32_t> named(others.begin(), others.end());
    rest.erase(others.begin(), others.end());
    take(entry, std::move(named));
  }
  take(nullptr, std::move(rest));
  return parts;
}

class Division {
public:
  Division(const std::vector<TierChoice>& tiers, EarlierPlacement& made)
      : tiers_(tiers), made_(made) {}

  void add(SiteDemand demand, std::optional<std::size_t> tier) {
    made_.workload.sites.push_back(std::move(demand));
    made_.tier_of_site.push_back(tier);
  }

  void add(const PartOfSite& part) {
    if (!part.entry) return add(part.demand, std::nullopt);
    const std::optional<std::size_t> home = first_tier_of(part.entry->kinds);
    if (part.entry->share < 1 && part.demand.small_blocks && part.demand.block_bytes > 0)
      return add_shares(part, home);
    if (part.entry->parts.empty() || part.demand.block_bytes == 0) return add(part.demand, home);
    std::vector<ByteRange> away;
    std::vector<std::vector<ByteRange>> in_tier(tiers_.size());
    std::vector<PlanPart> parts = part.entry->parts;
    std::ranges::sort(parts, {}, &PlanPart::begin);
    for (const PlanPart& one : parts)
      if (const auto tier = tier_of(one.kind)) {
        in_tier[*tier].push_back({one.begin, one.end});
        away.push_back({one.begin, one.end});
      }
    for (std::size_t tier = 0; tier < in_tier.size(); ++tier)
      add_range(part.demand, in_tier[tier], tier);
    add_range(part.demand, without(away, part.demand.block_bytes), home);
  }

private:
  void add_shares(const PartOfSite& part, std::optional<std::size_t> home) {
    const std::uint64_t all = part.demand.block_bytes;
    const auto border =
        static_cast<std::uint64_t>(std::llround(part.entry->share * static_cast<double>(all)));
    const auto other = tier_of(part.entry->kinds[1]);
    add_range(part.demand, {{0, border}}, home);
    add_range(part.demand, {{border, all}}, other ? other : home);
  }
  void add_range(const SiteDemand& demand, const std::vector<ByteRange>& bytes,
                 std::optional<std::size_t> tier) {
    SiteDemand range = some_bytes(demand, bytes);
    if (!range.ranges.empty()) add(std::move(range), tier);
  }
  // The runtime also takes the next kind where the machine has none of the first.
  std::optional<std::size_t> first_tier_of(const std::vector<MemoryKind>& kinds) const {
    for (const MemoryKind kind : kinds)
      if (const auto tier = tier_of(kind)) return tier;
    return {};
  }
  std::optional<std::size_t> tier_of(MemoryKind kind) const {
    const auto at = std::ranges::find(tiers_, kind, &TierChoice::kind);
    if (at == tiers_.end()) return {};
    return static_cast<std::size_t>(at - tiers_.begin());
  }

  const std::vector<TierChoice>& tiers_;
  EarlierPlacement& made_;
};

} // namespace

std::vector<std::size_t> EarlierPlacement::completed(std::size_t unnamed) const {
  std::vector<std::size_t> tiers;
  for (std::size_t site = 0; site < workload.sites.size(); ++site) {
    const std::optional<std::size_t>& kept = workload.sites[site].kept;
    tiers.push_back(kept ? *kept : tier_of_site[site].value_or(unnamed));
  }
  return tiers;
}

std::size_t tier_of_unnamed(const Plan& plan, const std::vector<TierChoice>& tiers) {
  std::vector<MemoryKind> kinds = plan.rest;
  kinds.push_back(MemoryKind::dram);
  for (const MemoryKind kind : kinds)
    if (const auto at = std::ranges::find(tiers, kind, &TierChoice::kind); at != tiers.end())
      return static_cast<std::size_t>(at - tiers.begin());
  return tiers.size() - 1;
}

bool EarlierPlacement::names_any() const {
  return std::ranges::any_of(tier_of_site, [](const auto& tier) { return tier.has_value(); });
}

EarlierPlacement placed_by(const Plan& plan, Workload workload, const ProfileSummary& summary,
                           const std::vector<TierChoice>& tiers) {
  std::vector<SiteDemand> sites = std::exchange(workload.sites, {});
  EarlierPlacement made{std::move(workload), {}};
  const EntriesOfSites entries(plan, summary);
  Division division(tiers, made);
  for (SiteDemand& site : sites) {
    const Entries named = site.is_free() ? entries.of(summary.sites[site.site]) : Entries{};
    if (named.empty()) {
      division.add(std::move(site), std::nullopt);
      continue;
    }
    for (const PartOfSite& part : divide_among(named, std::move(site), summary))
      division.add(part);
  }
  return made;
}

} // namespace omptier
