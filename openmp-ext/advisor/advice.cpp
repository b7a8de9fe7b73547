// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts the parts of the advisor together and makes a plan of their results.
#include "advisor/advice.hpp"

#include "advisor/explain.hpp"
#include "advisor/site_blocks.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <numeric>

namespace omptier {
namespace {

// Sites of equal frames are one to the runtime: it goes where the first, hotter one does.
void add_entry(Plan& plan, PlanEntry entry) {
  const auto same_frames = [](const std::vector<PlanFrame>& one,
                              const std::vector<PlanFrame>& other) {
    return std::ranges::equal(one, other, [](const PlanFrame& a, const PlanFrame& b) {
      return a.module == b.module && a.offset == b.offset;
    });
  };
  for (PlanEntry& known : plan.entries)
    if (entry.symbol.empty() && known.symbol.empty() && entry.instances.empty() && same_frames(known.frames, entry.frames) &&
        same_frames(known.region, entry.region)) {
      known.bytes += entry.bytes;
      return;
    }
  plan.entries.push_back(std::move(entry));
}

std::vector<InstanceRange> ranges_of(const std::vector<std::uint32_t>& blocks) {
  std::vector<InstanceRange> ranges;
  for (const std::uint32_t block : blocks)
    if (!ranges.empty() && ranges.back().last + 1 == block)
      ranges.back().last = block;
    else
      ranges.push_back({block, block});
  return ranges;
}

std::vector<PlanFrame> plan_frames(const std::vector<Frame>& frames,
                                   const std::function<PortableFrame(const Frame&)>& portable) {
  std::vector<PlanFrame> made;
  for (const Frame& frame : frames)
    made.push_back({frame.module, frame.offset, portable(frame)});
  return made;
}

PlanEntry entry_for(const Advice& advice, const ProfileSummary& summary, std::size_t site,
                    std::size_t tier, const std::function<PortableFrame(const Frame&)>& portable) {
  PlanEntry entry;
  entry.label = advice.workload.sites[site].label;
  const SiteSummary& from = summary.sites[advice.workload.sites[site].site];
  entry.instances = ranges_of(advice.workload.sites[site].blocks);
  if (from.kind == SiteKind::variable) {
    entry.symbol = from.symbol;
    entry.symbol_module = from.frames[0].module;
  } else {
    entry.frames = plan_frames(frames_of_runtime(from, summary.modules), portable);
  }
  entry.kinds = kinds_in_order(advice, site, tier);
  entry.bytes = advice.workload.sites[site].peak_bytes();
  entry.benefit = time_saved(advice.costs[site], tier);
  entry.reason = reason_for(advice.workload, advice.tiers, advice.costs, site, tier);
  return entry;
}

} // namespace

Advice advise(Workload workload, std::vector<TierChoice> tiers) {
  Advice advice{std::move(workload), std::move(tiers), {}, {}, {}};
  advice.costs = cost_table(advice.workload, advice.tiers);
  advice.placement = place_by_density(advice.workload, advice.tiers, advice.costs);
  join_blocks(advice.workload, advice.placement.tier_of_site);
  advice.costs = cost_table(advice.workload, advice.tiers);
  advice.moves = moves_that_pay(advice.workload, advice.tiers, advice.placement);
  return advice;
}

std::vector<MemoryKind> kinds_in_order(const Advice& advice, std::size_t site, std::size_t tier) {
  std::vector<std::size_t> order(advice.tiers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    if ((a == tier) != (b == tier)) return a == tier;
    return advice.costs[site][a] < advice.costs[site][b];
  });
  // Never a faster memory than the advised one: that room is for others.
  std::vector<MemoryKind> kinds;
  for (const std::size_t at : order)
    if (at == tier || advice.costs[site][at] >= advice.costs[site][tier])
      kinds.push_back(advice.tiers[at].kind);
  return kinds;
}

std::size_t tier_in_source(const Advice& advice, std::size_t site) {
  if (advice.workload.sites[site].by_plan) return advice.placement.tier_of_site[site];
  const std::vector<double>& costs = advice.costs[site];
  return static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin());
}

Plan plan_from(const Advice& advice, const ProfileSummary& summary,
               const std::function<PortableFrame(const Frame&)>& portable) {
  Plan plan;
  plan.made_by = "omptier " OMPTIER_VERSION;
  if (!summary.runs.empty()) plan.program = summary.runs.front().program;
  for (const ModuleInfo& module : summary.modules)
    plan.modules.push_back({module.identity, module.name});
  for (const TierChoice& tier : advice.tiers)
    if (tier.estimated) plan.estimated.push_back(tier.kind);
  for (std::size_t site = 0; site < advice.workload.sites.size(); ++site) {
    const std::size_t tier = advice.placement.tier_of_site[site];
    const SiteDemand& demand = advice.workload.sites[site];
    if (demand.placeable && demand.by_plan && tier != Placement::k_nowhere)
      add_entry(plan, entry_for(advice, summary, site, tier, portable));
  }
  for (const RegionMove& move : advice.moves) {
    PlanEntry entry = entry_for(advice, summary, move.site, move.tier, portable);
    entry.benefit = move.saved;
    entry.reason = "while " + advice.workload.regions[move.region].label + " runs: saves " +
                   format_duration(move.saved / advice.workload.threads.most()) +
                   ", moving costs " + format_duration(move.spent);
    // The runtime knows a region by its call stack: each of its copies has an entry.
    const RegionSummary& region = summary.regions[move.region];
    std::vector<std::vector<Frame>> copies = {region.frames};
    copies.insert(copies.end(), region.also.begin(), region.also.end());
    for (const std::vector<Frame>& frames : copies) {
      entry.region = plan_frames(frames, portable);
      add_entry(plan, entry);
    }
  }
  return plan;
}

} // namespace omptier
