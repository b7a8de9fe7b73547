// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan names kinds by allocation site; a strategy may place other allocations. Pools, pinning
// and partition of the allocator apply as without a plan.
#include "allocators/planned.hpp"

#include "allocators/charges.hpp"
#include "allocators/tier_order.hpp"
#include "base/notices.hpp"
#include "objects/modules.hpp"

#include <algorithm>
#include <optional>

namespace omptier {
namespace {

// The first pages take what is left of faster tiers, down to single pages.
void begin_in_faster_tiers(Placer& placer, void* block) {
  BlockInfo info;
  if (!placer.find(block, true, info) || !info.large) return;
  std::size_t filled = 0;
  for (std::size_t tier = 0; tier < placer.tier_count(); ++tier) {
    if (placer.kind_of_tier(tier) == info.charged) return;
    filled += filled == 0 ? placer.fill_front(block, tier)
                          : placer.place_part(block, filled, info.bytes, tier);
  }
}

// As far as there is room.
void place_range(Placer& placer, void* block, const PlanPart& range) {
  std::uint64_t begin = range.begin;
  for (std::size_t tier = 0; tier < placer.tier_count() && begin < range.end; ++tier)
    if (placer.kind_of_tier(tier) == range.kind)
      begin += placer.place_part(block, begin, range.end, tier);
}

// Parts hottest first. What is in none belongs to the entry's first kind, which may have had room
// for that, but not for the whole block, which now lies in another.
void place_parts(Placer& placer, void* block, const PlanEntry& entry) {
  BlockInfo info;
  if (entry.parts.empty() || !placer.find(block, true, info) || !info.large) return;
  for (const PlanPart& part : entry.parts)
    place_range(placer, block, part);
  if (info.charged == entry.kinds.front()) return;
  for (std::uint64_t at = 0; at < info.bytes;) {
    PlanPart rest{at, info.bytes, entry.kinds.front()};
    std::uint64_t next = info.bytes;
    for (const PlanPart& part : entry.parts)
      if (part.end > at && part.begin < rest.end) {
        rest.end = std::max(at, part.begin);
        next = part.end;
      }
    if (rest.begin < rest.end) place_range(placer, block, rest);
    at = next;
  }
}

bool source_overrules(const Allocator* allocator, const Plan& plan, std::uint32_t entry) {
  if (allocator == nullptr || allocator->traits.placement != value::required) return false;
  if (runtime().source_wins.fetch_add(1, std::memory_order_relaxed) == 0)
    inform(Notice::source_overrules,
           "placement=required in the source overrules the plan's \"%s\".",
           entry != 0 ? plan.entries[entry - 1].label.c_str() : "rest");
  return true;
}

std::optional<TierOrder> order_of_plan(const PlanPlacement& plan, const Placer& placer,
                                       const Allocator* allocator, const AllocationRequest& request,
                                       BlockRequest& wanted) {
  PlanDecision decision = plan.decide(request.caller, request.bytes);
  if (request.by_malloc && decision.entry == 0) {
    if (request.plan_entry == 0) return std::nullopt;
    decision = {plan.plan().entries[request.plan_entry - 1].kinds, request.plan_entry,
                request.plan_instance};
  }
  if (decision.kinds.empty() || source_overrules(allocator, plan.plan(), decision.entry))
    return std::nullopt;
  wanted.plan_entry = decision.entry;
  wanted.plan_instance = decision.instance;
  wanted.reason = PlacementReason::plan;
  return tiers_of_kinds(placer, decision.kinds);
}

// malloc blocks of the OpenMP runtime and of ours are no data of the program.
bool is_of_runtime(const void* caller) {
  const LoadedModule* module = module_of(reinterpret_cast<std::uintptr_t>(caller));
  return module != nullptr && module->runtime;
}

std::optional<TierOrder> order_of_strategy(const Strategy& strategy, const Placer& placer,
                                           const AllocationRequest& request, BlockRequest& wanted) {
  if (strategy.mode == Strategy::Mode::none || request.bytes < k_least_strategy_block ||
      (request.by_malloc && is_of_runtime(request.caller)))
    return std::nullopt;
  wanted.reason = PlacementReason::strategy;
  TierOrder order;
  for (std::size_t tier = 0; tier < placer.tier_count(); ++tier)
    if (strategy.mode == Strategy::Mode::first_come || placer.kind_of_tier(tier) == strategy.kind)
      order.add(tier);
  return order;
}

} // namespace

void* place_by_plan_or_strategy(Placer& placer, Allocator* allocator,
                                const AllocationRequest& request) {
  const PlanPlacement* plan = runtime().plan();
  const Strategy& strategy = runtime().strategy();
  BlockRequest wanted = block_request(allocator, request);
  const auto order = plan != nullptr ? order_of_plan(*plan, placer, allocator, request, wanted)
                                     : order_of_strategy(strategy, placer, request, wanted);
  if (!order) return nullptr;
  if (allocator != nullptr) {
    if (!charge_pool(*allocator, request.bytes, request.replaced)) return nullptr;
    allocator->count_in();
  }
  const Placed placed = place_on(placer, *order, wanted, request.zeroed);
  if (placed.block != nullptr) {
    if (wanted.plan_entry != 0)
      place_parts(placer, placed.block, plan->plan().entries[wanted.plan_entry - 1]);
    if (plan == nullptr && strategy.mode == Strategy::Mode::first_come)
      begin_in_faster_tiers(placer, placed.block);
    return placed.block;
  }
  if (allocator != nullptr) {
    uncharge_pool(*allocator, request.bytes, request.replaced);
    count_out(*allocator, request.bytes, false);
  }
  if (plan == nullptr || !order->empty()) // else its kinds are lacking, which was said
    warn_about_room(request.bytes, plan != nullptr ? "the plan" : "the strategy", placed.why);
  return nullptr;
}

void warn_about_room(std::size_t bytes, const char* whose, Refusal why) {
  warn_once(
      Notice::plan_without_room,
      "%zu bytes fit into no memory that %s allows (%s): the runtime's default memory is used.",
      bytes, whose, describe(why));
}

} // namespace omptier
