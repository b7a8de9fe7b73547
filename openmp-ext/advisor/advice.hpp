// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The advice as a whole: workload and tiers in, placement and moves out, and both as a plan.
#pragma once

#include "advisor/earlier_plan.hpp"
#include "advisor/move_advice.hpp"
#include "advisor/placement.hpp"
#include "advisor/strategies/strategies.hpp"
#include "analysis/aggregate.hpp"
#include "plan/plan.hpp"

#include <functional>

namespace omptier {

// Against a plan that is in use.
struct Change {
  bool is_none = false; // the earlier plan is kept
  double saves = 0;     // part of the earlier plan's time, under the model, that other advice saves
};

struct Advice {
  Workload workload;
  std::vector<TierChoice> tiers; // fastest first
  CostTable costs;
  Placement placement;
  std::vector<RegionMove> moves;
  std::vector<std::optional<std::size_t>> either; // by site: the tier that might do as well
  // Nanoseconds of thread time of the run under the model, and a bound: no placement, even of parts
  // of sites, takes less. Moves are not counted.
  double time = 0, least_time = 0;
  double in_step = 0;                // of the time: what divided arrays lose (in_step.hpp)
  double gain_of_moves = 0;          // nanoseconds of thread time
  std::optional<Change> change = {}; // if there is an earlier plan

  double time_with_moves() const { return time - gain_of_moves; }
};

// earlier: made from the same workload; kept unless other advice saves its worth_changing.
Advice advise(Workload workload, std::vector<TierChoice> tiers,
              const EarlierPlacement* earlier = nullptr, Effort effort = Effort::thorough);

// Whole sites where the strategy wants them, and what it moves.
Advice advise_by(const FieldStrategy& strategy, Workload workload, std::vector<TierChoice> tiers);

// How many times as fast the advice is as everything in the slowest tier. Of the predictions that
// benchmarks/published measures (capacity.py, advised.py), nine in ten lie between low and high.
// Where the profile does not tell time, the value is of waits, and low allows for any work beside.
struct Gain {
  double value = 1, low = 1, high = 1;
};
Gain gain_of(const Advice& advice);

// Whether the slowest tier could hold all that a plan places, so that the comparison can be made.
bool slowest_has_room(const Advice& advice);

struct StrategyTime {
  std::string_view name, rule;
  double time = 0; // as Advice::time_with_moves()
};
// What each strategy's placement of whole sites would take under the model. Sites that no plan
// reaches lie where they do in the advice.
std::vector<StrategyTime> compare_strategies(const Workload& whole, const Advice& advice);

// The tier where a site would be as well off, as far as its samples tell.
std::optional<std::size_t> other_tier(const Advice& advice, std::size_t site);

// all_bytes: all_peaks(advice.workload).
std::string reason_in(const Advice& advice, std::size_t site, std::size_t tier,
                      std::uint64_t all_bytes);

// Kinds for a site: the advised one, then the others by the site's own cost.
std::vector<MemoryKind> kinds_in_order(const Advice& advice, std::size_t site, std::size_t tier);

// Where the program's source should place a site: in the advised tier. Sites that no plan reaches
// were advised only in room that others left; for them, the tier in which they cost least.
std::size_t tier_in_source(const Advice& advice, std::size_t site);

// portable: turns a frame into names, from debug information.
Plan plan_from(const Advice& advice, const ProfileSummary& summary,
               const std::function<PortableFrame(const Frame&)>& portable);

} // namespace omptier
