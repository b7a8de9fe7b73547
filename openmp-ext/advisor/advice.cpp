// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts the parts of the advisor together and makes a plan of their results.
#include "advisor/advice.hpp"

#include "advisor/explain.hpp"
#include "advisor/in_step.hpp"
#include "advisor/needs.hpp"
#include "advisor/relaxation.hpp"
#include "advisor/site_blocks.hpp"
#include "advisor/site_ranges.hpp"
#include "advisor/strategies/seats.hpp"
#include "advisor/together.hpp"
#include "advisor/toss_ups.hpp"
#include "base/text.hpp"
#include "model/solver.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <numeric>
#include <optional>
#include <utility>

namespace omptier {
namespace {

constexpr double k_better = 1e-6; // part of the time: less is rounding

// Sites of equal frames are one to the runtime: it goes where the first, hotter one does.
class EntriesOfPlan {
public:
  explicit EntriesOfPlan(Plan& plan) : plan_(plan) {}

  void add(PlanEntry entry) {
    if (entry.symbol.empty() && entry.instances.empty()) {
      const auto [known, is_new] = by_frames_.try_emplace(
          {places_of(entry.frames), places_of(entry.region)}, plan_.entries.size());
      if (!is_new) {
        plan_.entries[known->second].bytes += entry.bytes;
        return;
      }
    }
    plan_.entries.push_back(std::move(entry));
  }

private:
  using Places = std::vector<std::pair<std::uint64_t, std::uint64_t>>; // module, offset
  static Places places_of(const std::vector<PlanFrame>& frames) {
    Places places;
    for (const PlanFrame& frame : frames)
      places.emplace_back(frame.module, frame.offset);
    return places;
  }

  Plan& plan_;
  std::map<std::pair<Places, Places>, std::size_t> by_frames_; // without symbol and instances
};

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

// A divided site has one entry, that of its part in the slowest tier: the whole block is placed
// there before its parts move.
bool holds_the_parts(const Advice& advice, std::size_t site) {
  const auto& tiers = advice.placement.tier_of_site;
  const SiteDemand& demand = advice.workload.sites[site];
  for (std::size_t other = 0; other < tiers.size() && !demand.ranges.empty(); ++other)
    if (are_of_the_same_blocks(demand, advice.workload.sites[other]) &&
        (tiers[other] > tiers[site] || (tiers[other] == tiers[site] && other < site)))
      return false;
  return true;
}

void add_parts(PlanEntry& entry, const Advice& advice, std::size_t site, std::size_t home) {
  const SiteDemand& demand = advice.workload.sites[site];
  if (demand.ranges.empty()) return;
  for (std::size_t other = 0; other < advice.workload.sites.size(); ++other) {
    const SiteDemand& part = advice.workload.sites[other];
    const std::size_t tier = advice.placement.tier_of_site[other];
    if (part.ranges.empty() || other == site || tier == home || tier == Placement::k_nowhere ||
        !are_of_the_same_blocks(demand, part))
      continue;
    for (const ByteRange& range : part.ranges)
      entry.parts.push_back({range.begin, range.end, advice.tiers[tier].kind});
    entry.bytes += part.peak_bytes();
  }
  // No entry has more; the smallest stay with the rest of their block.
  const auto length = [](const PlanPart& part) { return part.end - part.begin; };
  while (entry.parts.size() > Plan::k_most_parts)
    entry.parts.erase(std::ranges::min_element(entry.parts, {}, length));
}

// Between the site's own tier and that of its other part (join_slices() leaves two).
void divide_small_blocks(PlanEntry& entry, const Advice& advice, std::size_t site) {
  const SiteDemand& demand = advice.workload.sites[site];
  for (std::size_t i = 0; i < advice.workload.sites.size() && !demand.ranges.empty(); ++i) {
    const SiteDemand& other = advice.workload.sites[i];
    const std::size_t tier = advice.placement.tier_of_site[i];
    if (i == site || tier == Placement::k_nowhere || !are_of_the_same_blocks(demand, other))
      continue;
    entry.bytes += other.peak_bytes();
    entry.share = 1 - part_of_block(other);
    std::erase(entry.kinds, advice.tiers[tier].kind);
    entry.kinds.insert(entry.kinds.begin() + 1, advice.tiers[tier].kind);
  }
}

PlanEntry entry_for(const Advice& advice, const ProfileSummary& summary, std::size_t site,
                    std::size_t tier, std::uint64_t all_bytes,
                    const std::function<PortableFrame(const Frame&)>& portable) {
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
  if (has_small_blocks(from)) {
    entry.least_block = 1;
    divide_small_blocks(entry, advice, site);
  } else {
    add_parts(entry, advice, site, tier);
  }
  entry.benefit = time_saved(advice.costs[site], tier);
  entry.reason = reason_in(advice, site, tier, all_bytes);
  return entry;
}

// Being nowhere counts as in model/solver.hpp.
double losses_factor(const std::vector<std::size_t>& tier_of_site) {
  const auto nowhere = std::ranges::count(tier_of_site, Placement::k_nowhere);
  return 1 + k_loss_of_nowhere * static_cast<double>(nowhere);
}

double time_with_losses(const Workload& workload, const std::vector<TierChoice>& tiers,
                        const std::vector<std::size_t>& tier_of_site) {
  return predicted_time(workload, tiers, tier_of_site) * losses_factor(tier_of_site);
}

// Neither lifetimes nor loops: then the advice is what ompx_commit does.
bool is_known_to_the_runtime(const Workload& workload) {
  return Needs(workload).pieces() == 1 &&
         std::ranges::all_of(workload.sites,
                             [](const SiteDemand& site) { return site.by_loop.empty(); });
}

struct Placed {
  Placement placement;
  double least_time = 0;
};

// From two sides: by each site's own value, and by the prices of room that all of them make.
Placed place(const Workload& workload, const std::vector<TierChoice>& tiers, Effort effort) {
  Placed placed{place_by_density(workload, tiers, cost_table(workload, tiers)), 0};
  auto& tier_of_site = placed.placement.tier_of_site;
  improve_together(workload, tiers, tier_of_site, effort);
  Relaxed relaxed = relax(workload, tiers, tier_of_site);
  placed.least_time = relaxed.bound;
  if (tiers.size() < 2 || workload.sites.empty() || is_known_to_the_runtime(workload))
    return placed;
  improve_together(workload, tiers, relaxed.tier_of_site, effort);
  if (time_with_losses(workload, tiers, relaxed.tier_of_site) <
      (1 - k_better) * time_with_losses(workload, tiers, tier_of_site))
    tier_of_site = std::move(relaxed.tier_of_site);
  settle(workload, tiers, tier_of_site);
  return placed;
}

// Nanoseconds of thread time. A move back home saves only what the moves away would cost.
double gain_of_moves(const Threads& threads, const std::vector<std::size_t>& tier_of_site,
                     const std::vector<RegionMove>& moves) {
  double gain = 0;
  for (const RegionMove& move : moves)
    if (move.tier != tier_of_site[move.site]) gain += move.saved - threads.most() * move.spent;
  return gain;
}

double time_with_moves(const Workload& workload, const std::vector<TierChoice>& tiers,
                       const Placement& placement) {
  return predicted_time(workload, tiers, placement.tier_of_site) +
         lost_in_step(workload, tiers, placement.tier_of_site) -
         gain_of_moves(workload.threads, placement.tier_of_site,
                       moves_that_pay(workload, tiers, placement));
}

struct Divided {
  Workload workload;
  Placement placement;
};

// leave: sites of the workload that stay whole. None if nothing else can be divided.
std::optional<Divided> divide(const Advice& advice, const std::vector<std::size_t>& leave,
                              Effort effort) {
  Workload workload = advice.workload;
  for (const std::size_t site : leave)
    workload.sites[site].block_bytes = 0;
  const Sliced sliced = slice(workload, cost_table(workload, advice.tiers));
  if (sliced.from.size() == workload.sites.size()) return {};
  Placement placement = place(sliced.workload, advice.tiers, effort).placement;
  tidy_slices(sliced.workload, advice.tiers, sliced.from, placement.tier_of_site);
  Workload joined = join_slices(advice.workload, sliced, placement.tier_of_site);
  return Divided{std::move(joined), std::move(placement)};
}

// Sites of the workload of which parts are divided in vain.
std::vector<std::size_t> lose_in_step(const Workload& workload, const Divided& divided,
                                      const std::vector<TierChoice>& tiers) {
  std::vector<std::size_t> parts, sites;
  lost_in_step(divided.workload, tiers, divided.placement.tier_of_site, &parts);
  for (std::size_t site = 0; site < workload.sites.size(); ++site)
    if (std::ranges::any_of(parts, [&](std::size_t part) {
          return are_of_the_same_blocks(workload.sites[site], divided.workload.sites[part]);
        }))
      sites.push_back(site);
  return sites;
}

// Sites are divided only where that saves time: whole ones are easier to understand, and only they
// are moved per region. If all divisions together do not, those that threads in step lose by are
// left out.
void place_whole_or_divided(Advice& advice, Effort effort) {
  constexpr double k_worth = 0.008; // of the time with whole sites: the model tells no less
  Placed placed = place(advice.workload, advice.tiers, effort);
  advice.placement = std::move(placed.placement);
  advice.least_time = placed.least_time;
  if (advice.tiers.size() < 2) return;
  const double whole =
      predicted_time(advice.workload, advice.tiers, advice.placement.tier_of_site);
  if (advice.least_time >= (1 - k_worth) * whole) return;
  const double worth =
      (1 - k_worth) * time_with_moves(advice.workload, advice.tiers, advice.placement);
  std::optional<Divided> divided;
  for (const bool again : {false, true}) {
    std::vector<std::size_t> leave;
    if (again) leave = lose_in_step(advice.workload, *divided, advice.tiers);
    if (again && leave.empty()) return;
    divided = divide(advice, leave, effort);
    if (!divided) return;
    if (time_with_moves(divided->workload, advice.tiers, divided->placement) < worth) {
      advice.workload = std::move(divided->workload);
      advice.placement = std::move(divided->placement);
      return;
    }
  }
}

// What the plan does not name is placed around the rest, and so is what no longer has room.
Placement place_around(const EarlierPlacement& earlier, const std::vector<TierChoice>& tiers,
                       Effort effort) {
  Workload held = earlier.workload;
  std::vector<std::pair<double, std::size_t>> order; // by what a byte saves there
  const CostTable costs = cost_table(held, tiers);
  for (std::size_t site = 0; site < held.sites.size(); ++site)
    if (const auto tier = earlier.tier_of_site[site]) {
      const auto bytes = static_cast<double>(held.sites[site].peak_bytes() + 1);
      order.emplace_back(-time_saved(costs[site], *tier) / bytes, site);
    }
  std::ranges::sort(order);
  const StrategyInput input{earlier.workload, tiers};
  Seats seats(input, Lifetimes::known); // those that the user keeps have their room
  for (const auto& [value, site] : order)
    if (const std::size_t tier = *earlier.tier_of_site[site]; seats.put(site, tier))
      held.sites[site].kept = tier;
  return place(held, tiers, effort).placement;
}

void keep_unless_slower(Advice& advice, const EarlierPlacement& earlier, Effort effort) {
  Placement placement = place_around(earlier, advice.tiers, effort);
  const double before = time_with_moves(earlier.workload, advice.tiers, placement) *
                        losses_factor(placement.tier_of_site);
  const double now = time_with_moves(advice.workload, advice.tiers, advice.placement) *
                     losses_factor(advice.placement.tier_of_site);
  const double all = before + advice.workload.rest;
  advice.change = Change{false, all > 0 ? (before - now) / all : 0};
  if (advice.change->saves >= earlier.worth_changing) return;
  advice.change->is_none = true;
  advice.workload = earlier.workload;
  advice.placement = std::move(placement);
}

void predict(Advice& advice) {
  const auto& tier_of_site = advice.placement.tier_of_site;
  advice.placement.saved = 0;
  for (std::size_t site = 0; site < tier_of_site.size(); ++site)
    if (tier_of_site[site] != Placement::k_nowhere)
      advice.placement.saved += time_saved(advice.costs[site], tier_of_site[site]);
  advice.in_step = lost_in_step(advice.workload, advice.tiers, tier_of_site);
  advice.time = predicted_time(advice.workload, advice.tiers, tier_of_site) + advice.workload.rest +
                advice.in_step;
  advice.least_time = std::min(advice.least_time + advice.workload.rest, advice.time);
  advice.gain_of_moves = gain_of_moves(advice.workload.threads, tier_of_site, advice.moves);
  advice.either = toss_ups(advice.workload, advice.costs, advice.tiers, tier_of_site);
}

} // namespace

Advice advise(Workload workload, std::vector<TierChoice> tiers, const EarlierPlacement* earlier,
              Effort effort) {
  Advice advice{std::move(workload), std::move(tiers), {}, {}, {}, {}};
  place_whole_or_divided(advice, effort);
  if (earlier && earlier->names_any()) keep_unless_slower(advice, *earlier, effort);
  join_ranges(advice.workload, advice.placement.tier_of_site);
  join_blocks(advice.workload, advice.placement.tier_of_site);
  advice.costs = cost_table(advice.workload, advice.tiers);
  advice.moves = moves_that_pay(advice.workload, advice.tiers, advice.placement);
  predict(advice);
  return advice;
}

Advice advise_by(const FieldStrategy& strategy, Workload workload, std::vector<TierChoice> tiers) {
  Advice advice{std::move(workload), std::move(tiers), {}, {}, {}, {}};
  if (advice.tiers.empty())
    advice.placement.tier_of_site.assign(advice.workload.sites.size(), Placement::k_nowhere);
  else
    advice.placement.tier_of_site = strategy.place({advice.workload, advice.tiers});
  if (strategy.moves && !advice.tiers.empty())
    advice.moves = strategy.moves({advice.workload, advice.tiers});
  advice.costs = cost_table(advice.workload, advice.tiers);
  advice.least_time = relax(advice.workload, advice.tiers, advice.placement.tier_of_site).bound;
  predict(advice);
  return advice;
}

Gain gain_of(const Advice& advice) {
  constexpr double k_usual_error = 1.4; // a factor, either way
  if (advice.tiers.empty() || !(advice.time > 0)) return {};
  const std::vector<std::size_t> slow(advice.workload.sites.size(), advice.tiers.size() - 1);
  const double value =
      (predicted_time(advice.workload, advice.tiers, slow) + advice.workload.rest) / advice.time;
  const bool tells_time = advice.workload.measure == Measure::time;
  return {value, tells_time ? value / k_usual_error : std::min(1.0, value), value * k_usual_error};
}

bool slowest_has_room(const Advice& advice) {
  const Needs needs(advice.workload);
  Room room;
  if (!room.make(std::vector{advice.tiers.back().capacity}, needs.pieces())) throw std::bad_alloc();
  for (std::size_t site = 0; site < advice.workload.sites.size(); ++site) {
    const SiteDemand& demand = advice.workload.sites[site];
    if (!demand.placeable || !demand.by_plan) continue;
    if (!room.fits(needs.of(site), 0)) return false;
    room.take(needs.of(site), 0);
  }
  return true;
}

std::vector<StrategyTime> compare_strategies(const Workload& whole, const Advice& advice) {
  std::vector<StrategyTime> times;
  for (const FieldStrategy& strategy : field_strategies()) {
    std::vector<std::size_t> where = strategy.place({whole, advice.tiers});
    for (std::size_t site = 0; site < advice.workload.sites.size(); ++site)
      if (const SiteDemand& demand = advice.workload.sites[site]; !demand.by_plan)
        where[demand.site] = advice.placement.tier_of_site[site];
    double time = predicted_time(whole, advice.tiers, where) + whole.rest;
    if (strategy.moves)
      time -= gain_of_moves(whole.threads, where, strategy.moves({whole, advice.tiers}));
    times.push_back({strategy.name, strategy.rule, time});
  }
  return times;
}

std::optional<std::size_t> other_tier(const Advice& advice, std::size_t site) {
  return site < advice.either.size() ? advice.either[site] : std::nullopt;
}

std::string reason_in(const Advice& advice, std::size_t site, std::size_t tier,
                      std::uint64_t all_bytes) {
  std::string reason =
      reason_for(advice.workload, advice.tiers, advice.costs, site, tier, all_bytes);
  if (tier == Placement::k_nowhere) return reason;
  if (const auto other = other_tier(advice, site))
    reason += "; either " + std::string(title_of(advice.tiers[tier].kind)) + " or " +
              std::string(title_of(advice.tiers[*other].kind)) +
              ": the samples do not tell which is better";
  else
    reason += better_alone_text(advice.tiers, advice.costs[site], tier);
  return reason;
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

namespace {

// The run is as much shorter as the model's time.
void predict_seconds(Plan& plan, const Advice& advice, const ProfileSummary& summary) {
  const double recorded = weight_of_all(summary);
  if (summary.measure != Measure::time || !(recorded > 0) || advice.tiers.empty()) return;
  plan.recorded_seconds = static_cast<double>(summary.nanoseconds) / 1e9;
  const double by_threads = static_cast<double>(summary.threads) / advice.workload.threads.most();
  plan.predicted_seconds =
      plan.recorded_seconds * by_threads * std::max(0.0, advice.time_with_moves()) / recorded;
}

// The runtime knows a region by its call stack: each of its copies has an entry. A stretch of one
// begins behind barriers, and maybe when the region does.
std::vector<std::vector<Frame>> begins_of(const Advice& advice, const ProfileSummary& summary,
                                          std::size_t number) {
  const WorkloadRegion& of = advice.workload.regions[number];
  std::vector<std::vector<Frame>> begins;
  if (of.is_whole() || of.at_region) {
    const RegionSummary& region = summary.regions[of.is_whole() ? number : of.part_of];
    begins = region.also;
    begins.insert(begins.begin(), region.frames);
  }
  for (const std::uint32_t barrier : of.barriers)
    begins.push_back(summary.phases[barrier].frames);
  return begins;
}

} // namespace

Plan plan_from(const Advice& advice, const ProfileSummary& summary,
               const std::function<PortableFrame(const Frame&)>& portable) {
  Plan plan;
  plan.made_by = "omptier " OMPTIER_VERSION;
  if (!summary.runs.empty()) plan.program = summary.runs.front().program;
  for (const ModuleInfo& module : summary.modules)
    plan.modules.push_back({module.identity, module.name});
  for (const TierChoice& tier : advice.tiers)
    if (tier.estimated) plan.estimated.push_back(tier.kind);
  predict_seconds(plan, advice, summary);
  EntriesOfPlan entries(plan);
  const std::uint64_t all_bytes = all_peaks(advice.workload);
  for (std::size_t site = 0; site < advice.workload.sites.size(); ++site) {
    const std::size_t tier = advice.placement.tier_of_site[site];
    const SiteDemand& demand = advice.workload.sites[site];
    if (demand.placeable && demand.by_plan && tier != Placement::k_nowhere &&
        holds_the_parts(advice, site))
      entries.add(entry_for(advice, summary, site, tier, all_bytes, portable));
  }
  for (const RegionMove& move : advice.moves) {
    PlanEntry entry = entry_for(advice, summary, move.site, move.tier, all_bytes, portable);
    entry.benefit = move.saved;
    const WorkloadRegion& region = advice.workload.regions[move.region];
    entry.reason = (region.is_whole() ? "while " + region.label + " runs" : region.label) +
                   ": saves " + format_duration(move.saved / advice.workload.threads.most()) +
                   ", moving costs " + format_duration(move.spent);
    for (const std::vector<Frame>& frames : begins_of(advice, summary, move.region)) {
      entry.region = plan_frames(frames, portable);
      entries.add(entry);
    }
  }
  return plan;
}

} // namespace omptier
