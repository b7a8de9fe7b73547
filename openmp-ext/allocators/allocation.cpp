// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What decides an allocation, in order: the strategy, if there is one; an explicit
// placement=required in the source, the plan, the allocator's space and traits; libomp's own memory
// if none of these applies. Each
// path ends either with a block or in the allocator's fallback.
#include "allocators/allocation.hpp"

#include "allocators/fast_path.hpp"
#include "allocators/planned.hpp"
#include "base/notices.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

namespace omptier {
namespace {

std::size_t alignment_for(const Allocator* allocator, const AllocationRequest& request) {
  const std::size_t asked = std::max({allocator != nullptr ? allocator->traits.alignment : 1,
                                      request.alignment, k_least_alignment});
  return std::bit_ceil(std::min(asked, k_largest_block / 2 + 1));
}

Partition partition_of(const Allocator& allocator) {
  switch (allocator.traits.partition) {
  case value::nearest:
    return Partition::nearest;
  case value::blocked:
    return Partition::blocked;
  case value::interleaved:
    return Partition::interleaved;
  default:
    return Partition::environment;
  }
}

} // namespace

void* stock_allocate(std::size_t bytes, std::size_t alignment, OmpValue handle) {
  if (bytes > k_largest_block) return nullptr;
  const omptier_runtime* libomp = runtime().libomp.load(std::memory_order_acquire);
  if (libomp != nullptr) return libomp->stock_allocate(bytes, alignment, handle);
  void* block = nullptr;
  const std::size_t step = std::max(alignment, k_least_alignment);
  return ::posix_memalign(&block, step, bytes) == 0 ? block : nullptr;
}

BlockRequest block_request(const Allocator* allocator, const AllocationRequest& request) {
  BlockRequest block;
  block.bytes = request.bytes;
  block.alignment = alignment_for(allocator, request);
  block.caller = request.caller;
  block.allocator = k_no_allocator;
  if (allocator == nullptr) return block;
  block.pinned = allocator->traits.pinned;
  block.partition = partition_of(*allocator);
  block.allocator = allocator->number;
  block.watched = allocator->wants_to_know();
  return block;
}

Placed place_on(Placer& placer, const TierOrder& tiers, BlockRequest block, bool zeroed) {
  Placed placed;
  for (const std::size_t tier : tiers) {
    bool fresh = false;
    if (tier != tiers.front() &&
        (block.reason == PlacementReason::preferred || block.reason == PlacementReason::declared))
      block.reason = PlacementReason::next_best;
    placed.block = placer.place(tier, block, fresh, placed.why);
    if (placed.block == nullptr) continue;
    placed.tier = tier;
    if (zeroed && !fresh) std::memset(placed.block, 0, block.bytes);
    break;
  }
  return placed;
}

namespace {

void* stock_block(Allocator& allocator, const AllocationRequest& request, StockReason reason,
                  Refusal refusal, OmpValue stock_handle) {
  void* block = stock_allocate(request.bytes, alignment_for(&allocator, request), stock_handle);
  if (block == nullptr) return nullptr;
  if (request.zeroed) std::memset(block, 0, request.bytes);
  allocator.count_in();
  StockBlock entry;
  entry.begin = reinterpret_cast<std::uintptr_t>(block);
  entry.bytes = request.bytes;
  entry.caller = request.caller;
  entry.allocator = allocator.number;
  entry.reason = reason;
  entry.wanted = static_cast<std::uint8_t>(wanted_kind(allocator));
  entry.refusal = static_cast<std::uint8_t>(refusal);
  runtime().stock_blocks.add(entry);
  return block;
}

[[noreturn]] void abort_as_asked(const Allocator& allocator, std::size_t bytes, Refusal refusal) {
  const std::string_view space = space_name(allocator.space);
  warn_once(
      Notice::aborted_as_asked,
      "%.*s: %zu bytes cannot be allocated (%s) and the allocator's fallback is abort_fb: the "
      "program is aborted as requested.",
      static_cast<int>(space.size()), space.data(), bytes,
      refusal == Refusal::none ? "its pool is used up" : describe(refusal));
  std::abort();
}

void* allocate_from(Allocator& allocator, const AllocationRequest& request, int chain);

void* fall_back(Allocator& allocator, const AllocationRequest& request, Refusal refusal,
                int chain) {
  allocator.fallbacks.fetch_add(1, std::memory_order_relaxed);
  const OmpValue fallback = allocator.traits.fallback;
  if (fallback == value::null_fb) return nullptr;
  if (fallback == value::abort_fb) abort_as_asked(allocator, request.bytes, refusal);
  OmpValue stock_handle = k_default_mem_alloc;
  const OmpValue fallback_allocator = allocator.traits.fallback_allocator;
  if (fallback == value::allocator_fb && fallback_allocator != k_null_allocator) {
    AllocatorTable& allocators = runtime().allocators;
    Allocator* next = allocators.find(fallback_allocator);
    if (next != nullptr && chain < k_longest_fallback_chain)
      return allocate_from(*next, request, chain + 1);
    // A destroyed allocator of ours counts as the default one.
    if (next == nullptr && !allocators.made_here(fallback_allocator))
      stock_handle = fallback_allocator;
  }
  const std::string_view space = space_name(allocator.space);
  if (refusal != Refusal::none && refusal != Refusal::nothing_known)
    warn_once_of(Notice::capacity_exhausted, space,
                 "%.*s: %zu bytes cannot be allocated, %s; the fallback is taken (ompx_dump shows "
                 "which blocks are concerned).",
                 static_cast<int>(space.size()), space.data(), request.bytes, describe(refusal));
  return stock_block(allocator, request, StockReason::fallback, refusal, stock_handle);
}

bool may_be_repeated(const Allocator& allocator, const BlockRequest& block) {
  return block.bytes < k_large_block && !allocator.wants_to_know() && !block.pinned &&
         block.partition != Partition::blocked && block.alignment <= k_least_alignment &&
         !runtime().places_everything.load(std::memory_order_relaxed);
}

Placed place_by_traits(Allocator& allocator, const AllocationRequest& request, bool first_asked) {
  Placer* placer = runtime().placer();
  if (placer == nullptr) return {.why = Refusal::nothing_known};
  const std::uint32_t locality = locality_of(placer->choices());
  const std::uint32_t life = allocator.life.load(std::memory_order_acquire);
  const TierOrder tiers = tiers_of(*placer, allocator);
  BlockRequest wanted = block_request(&allocator, request);
  wanted.required = allocator.required();
  wanted.reason = wanted.required                         ? PlacementReason::required
                  : allocator.decided_tier != k_undecided ? PlacementReason::declared
                                                          : PlacementReason::preferred;
  allocator.count_in();
  const Placed placed = place_on(*placer, tiers, wanted, request.zeroed);
  if (placed.block == nullptr)
    count_out(allocator, request.bytes, false);
  else if (first_asked && placed.tier == tiers.front() && life != 0 &&
           may_be_repeated(allocator, wanted) && locality == locality_of(placer->choices()))
    learn_route({allocator.handle, allocator.life, life, allocator.number}, *placer, placed.block,
                locality);
  return placed;
}

void* allocate_from(Allocator& allocator, const AllocationRequest& request, int chain) {
  if (allocator.pooled() && !charge_pool(allocator, request.bytes, request.replaced))
    return fall_back(allocator, request, Refusal::none, chain);
  Placed placed;
  if (allocator.space != Space::standard_default || allocator.places_default_space())
    placed = place_by_traits(allocator, request, chain == 0);
  else
    placed = {.block = stock_block(allocator, request, StockReason::default_space, Refusal::none,
                                   k_default_mem_alloc),
              .why = Refusal::node_full};
  if (placed.block != nullptr) return placed.block;
  uncharge_pool(allocator, request.bytes, request.replaced);
  return fall_back(allocator, request, placed.why, chain);
}

// A destroyed or invalid handle is undefined in OpenMP, but libomp would use it as a pointer.
void* memory_of_destroyed(const AllocationRequest& request) {
  void* block = stock_allocate(request.bytes, alignment_for(nullptr, request), k_default_mem_alloc);
  if (block != nullptr && request.zeroed) std::memset(block, 0, request.bytes);
  return block;
}

} // namespace

bool allocate(const AllocationRequest& request, void** block) {
  Runtime& state = runtime();
  Allocator* allocator = state.allocators.find(request.handle);
  const bool everything = state.places_everything.load(std::memory_order_relaxed);
  const bool destroyed = allocator == nullptr && (state.allocators.made_here(request.handle) ||
                                                  AllocatorTable::is_no_handle(request.handle));
  if (allocator == nullptr && !everything && !destroyed) return false;
  *block = nullptr;
  if (request.bytes == 0) return true;
  if (everything)
    if (Placer* placer = state.placer())
      *block = place_by_plan_or_strategy(*placer, allocator, request);
  if (*block == nullptr && allocator != nullptr) {
    *block = allocate_from(*allocator, request, 0);
  } else if (*block == nullptr) {
    if (!destroyed) return false;
    *block = memory_of_destroyed(request);
  }
  if (*block != nullptr) report_allocated(*block, request.bytes, request.handle, request.caller);
  return true;
}

} // namespace omptier
