// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See small_blocks.hpp. A handle is the address of the plan's entry, or the next one for the blocks
// that its second kind gets.
#include "allocators/small_blocks.hpp"

#include "allocators/allocation.hpp"
#include "allocators/fast_path.hpp"
#include "allocators/planned.hpp"

#include <algorithm>

namespace omptier::small_blocks {
namespace {

constexpr std::uintptr_t k_rest = 1;
static_assert(alignof(PlanEntry) > k_rest);

TierOrder tiers_of(const Placer& placer, std::uintptr_t handle) {
  const auto& entry = *reinterpret_cast<const PlanEntry*>(handle & ~k_rest);
  const std::span<const MemoryKind> kinds = entry.kinds;
  if (entry.share == 1) return tiers_of_kinds(placer, kinds);
  const bool is_rest = (handle & k_rest) != 0;
  TierOrder order = tiers_of_kinds(placer, kinds.subspan(is_rest ? 1 : 0, 1));
  // The second kind's room is for its own share.
  for (const auto next : {kinds.first(1), kinds.subspan(2), kinds.subspan(1, 1)})
    for (const std::size_t tier : tiers_of_kinds(placer, next))
      order.add(tier);
  return order;
}

} // namespace

std::size_t least() {
  Runtime& state = runtime();
  const Plan* text = state.plan_text();
  const std::uint64_t least = text != nullptr ? least_block_of(*text) : k_least_large;
  if (least == k_least_large) return least; // the platform can wait
  return state.placer_without_waiting() != nullptr && state.plan() != nullptr ? least
                                                                              : k_least_large;
}

void decide(const void* caller, omptier_small_call* decided) {
  *decided = {};
  const PlanPlacement* plan = runtime().plan();
  if (plan == nullptr) return;
  StackWord words[OMPTIER_MOST_CALL_WORDS];
  const PlanPlacement::SmallCall call = plan->decide_small(caller, words);
  decided->never = call.never ? 1 : 0;
  decided->never_two = call.never_two ? 1 : 0;
  if (call.entry != FrameMatcher::k_none) {
    const PlanEntry& entry = plan->plan().entries[call.entry];
    decided->handle = reinterpret_cast<std::uintptr_t>(&entry);
    decided->least = entry.least_block;
    if (entry.share < 1) {
      decided->rest = decided->handle | k_rest;
      decided->share = static_cast<std::uint32_t>(std::min((1 - entry.share) * 0x1p32, 0x1p32 - 1));
    }
  }
  decided->words.count = call.count;
  for (std::uint32_t i = 0; i < call.count; ++i) {
    decided->words.code[i] = words[i].code;
    decided->words.above[i] = words[i].above;
  }
}

void* allocate_quickly(std::size_t bytes, std::size_t alignment, std::uintptr_t handle,
                       const void* caller, Otherwise otherwise) {
  return omptier::allocate_quickly<leave_it>(bytes, alignment, handle, caller, otherwise);
}

void* allocate(std::size_t bytes, std::size_t alignment, std::uintptr_t handle, const void* caller,
               std::uintptr_t* bounds) {
  Runtime& state = runtime();
  Placer* placer = state.placer_if_ready();
  if (placer == nullptr) return nullptr;
  const std::uint32_t locality = locality_of(placer->choices());
  const std::uint32_t life = state.life_of_plan.load(std::memory_order_acquire);
  const TierOrder tiers = tiers_of(*placer, handle);
  BlockRequest wanted = block_request(nullptr, {bytes, alignment, k_null_allocator, false, caller});
  wanted.reason = PlacementReason::plan;
  const Placed placed = place_on(*placer, tiers, wanted, false);
  if (placed.block == nullptr) {
    warn_about_room(bytes, "the plan", placed.why);
    return nullptr;
  }
  if (placed.tier == tiers.front() && wanted.alignment <= k_least_alignment &&
      locality == locality_of(placer->choices()))
    learn_route({handle, state.life_of_plan, life, wanted.allocator}, *placer, placed.block,
                locality);
  report_allocated(placed.block, bytes, k_null_allocator, caller);
  placer->ranges().bounds(bounds[0], bounds[1]);
  return placed.block;
}

void release_quickly(void* block, void (*otherwise)(void*)) {
  if (!omptier::release_quickly(block)) otherwise(block);
}

} // namespace omptier::small_blocks
