// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order of authority for one allocation: an explicit placement=required in the source, then the
// plan, then the strategy, then the allocator's space and traits; libomp's own memory when nothing
// of these concerns it. Each way ends either with a block or in the allocator's fallback.
#include "allocators/allocation.hpp"

#include "allocators/fast_path.hpp"
#include "allocators/tier_gain.hpp"
#include "base/log.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sched.h>

namespace omptier {
namespace {

constexpr OmpValue k_default_mem_alloc = 1;
constexpr std::size_t k_least_alignment = 16; // of every block of ours, as malloc's

// No block is larger: sizes near the end of the address space would overflow libomp's arithmetic.
constexpr std::size_t k_largest_block = PTRDIFF_MAX;

// Of the call, of the allocator's traits and ours. Only powers of two have a meaning; the next one
// is taken for anything else.
std::size_t alignment_for(const Allocator* allocator, const AllocationRequest& request) {
  const std::size_t asked = std::max({allocator != nullptr ? allocator->traits.alignment : 1,
                                      request.alignment, k_least_alignment});
  return std::bit_ceil(std::min(asked, k_largest_block / 2 + 1));
}

unsigned current_cpu() {
  const int cpu = ::sched_getcpu();
  return cpu >= 0 ? static_cast<unsigned>(cpu) : 0;
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

void report_allocated(const void* block, std::size_t bytes, OmpValue handle, const void* caller) {
  const omptier_observer* observer = runtime().observer.load(std::memory_order_acquire);
  if (observer != nullptr && observer->allocated != nullptr)
    observer->allocated(block, bytes, handle, caller);
}

void report_released(const void* block) {
  const omptier_observer* observer = runtime().observer.load(std::memory_order_acquire);
  if (observer != nullptr && observer->released != nullptr) observer->released(block);
}

void count_in(Allocator& allocator) {
  if (!allocator.has_allocated.load(std::memory_order_relaxed))
    allocator.has_allocated.store(true, std::memory_order_relaxed);
  if (allocator.of_one_block) allocator.blocks.fetch_add(1, std::memory_order_relaxed);
}

// Whose bytes the allocator's pool_size counts together with the calling thread's; 0: everybody's.
std::uintptr_t pool_scope(const Allocator& allocator) {
  const OmpValue access = allocator.traits.access;
  if (access == 0 || access == value::all) return 0;
  const omptier_runtime* libomp = runtime().libomp.load(std::memory_order_acquire);
  if (libomp != nullptr) return libomp->scope(access);
  return access == value::thread ? ::pthread_self() : 0;
}

} // namespace

void uncharge_pool(Allocator& allocator, std::size_t bytes) {
  if (allocator.traits.pool_size != k_default_value)
    allocator.pool.give_back(pool_scope(allocator), allocator.pool_charge(bytes));
}

namespace {

void count_out(Allocator& allocator, std::size_t bytes, bool charged) {
  if (charged) uncharge_pool(allocator, bytes);
  if (allocator.of_one_block && allocator.blocks.fetch_sub(1, std::memory_order_relaxed) == 1)
    runtime().allocators.destroy(allocator.handle);
}

// A live block becomes another size, in its place or in another: only the difference counts.
bool recharge_pool(Allocator& allocator, std::size_t from, std::size_t to) {
  if (allocator.traits.pool_size == k_default_value) return true;
  if (to > k_largest_block) return false;
  if (to > from)
    return allocator.pool.charge(pool_scope(allocator), to - from, allocator.traits.pool_size);
  allocator.pool.give_back(pool_scope(allocator), from - to);
  return true;
}

bool charge_pool(Allocator& allocator, const AllocationRequest& request) {
  const std::size_t bytes = request.bytes;
  if (allocator.traits.pool_size == k_default_value) return true;
  if (bytes > k_largest_block) return false;
  if (request.replaced != nullptr && request.replaced->charged == &allocator)
    return request.replaced->taken_over =
               recharge_pool(allocator, request.replaced->bytes, request.bytes);
  return allocator.pool.charge(pool_scope(allocator), allocator.pool_charge(bytes),
                               allocator.traits.pool_size);
}

// The allocation was not made after all.
void uncharge_pool(Allocator& allocator, const AllocationRequest& request) {
  if (request.replaced == nullptr || !request.replaced->taken_over)
    return uncharge_pool(allocator, request.bytes);
  request.replaced->taken_over = false;
  const std::size_t old = request.replaced->bytes;
  if (request.bytes > old)
    allocator.pool.give_back(pool_scope(allocator), request.bytes - old);
  else // whatever others took meanwhile: the old block is there
    allocator.pool.charge(pool_scope(allocator), old - request.bytes, k_default_value);
}

// libomp's own memory; on a runtime that never attached, the C library's. Not zeroed.
void* stock_allocate(std::size_t bytes, std::size_t alignment, OmpValue handle) {
  if (bytes > k_largest_block) return nullptr;
  const omptier_runtime* libomp = runtime().libomp.load(std::memory_order_acquire);
  if (libomp != nullptr) return libomp->stock_allocate(bytes, alignment, handle);
  void* block = nullptr;
  const std::size_t step = std::max(alignment, k_least_alignment);
  return ::posix_memalign(&block, step, bytes) == 0 ? block : nullptr;
}

// A block of libomp's memory on behalf of an allocator of ours.
void* stock_block(Allocator& allocator, const AllocationRequest& request, StockReason reason,
                  Refusal refusal, OmpValue stock_handle) {
  void* block = stock_allocate(request.bytes, alignment_for(&allocator, request), stock_handle);
  if (block == nullptr) return nullptr;
  if (request.zeroed) std::memset(block, 0, request.bytes);
  count_in(allocator);
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
  warn(
      Notice::capacity_exhausted,
      "%.*s: %zu bytes cannot be had (%s) and the allocator's fallback is abort_fb: the program is "
      "aborted as it asked.",
      static_cast<int>(space.size()), space.data(), bytes,
      refusal == Refusal::none ? "its pool is used up" : describe(refusal));
  std::abort();
}

// Asks tiers in order; null and why when all refuse. served: index of the one that gave.
void* place_on(Placer& placer, std::span<const std::size_t> tiers, BlockRequest block, bool zeroed,
               Refusal& why, std::size_t& served) {
  why = Refusal::no_such_kind;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    bool fresh = false;
    if (i == 1 &&
        (block.reason == PlacementReason::preferred || block.reason == PlacementReason::declared))
      block.reason = PlacementReason::next_best;
    void* result = placer.place(tiers[i], block, fresh, why);
    if (result == nullptr) continue;
    served = i;
    if (zeroed && !fresh) std::memset(result, 0, block.bytes);
    return result;
  }
  return nullptr;
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
    // Not ours; one of ours that was destroyed is taken for the default one.
    if (next == nullptr && !allocators.made_here(fallback_allocator))
      stock_handle = fallback_allocator;
  }
  const std::string_view space = space_name(allocator.space);
  if (refusal != Refusal::none && refusal != Refusal::nothing_known)
    warn_once(Notice::capacity_exhausted,
              "%.*s: %zu bytes cannot be had, %s; the fallback is taken (ompx_dump shows which "
              "blocks are concerned).",
              static_cast<int>(space.size()), space.data(), request.bytes, describe(refusal));
  return stock_block(allocator, request, StockReason::fallback, refusal, stock_handle);
}

void* allocate_from(Allocator& allocator, const AllocationRequest& request, int chain) {
  if (!charge_pool(allocator, request)) return fall_back(allocator, request, Refusal::none, chain);
  if (allocator.space == Space::standard_default && !allocator.places_default_space()) {
    void* block = stock_block(allocator, request, StockReason::default_space, Refusal::none,
                              k_default_mem_alloc);
    if (block != nullptr) return block;
    uncharge_pool(allocator, request);
    return fall_back(allocator, request, Refusal::node_full, chain);
  }
  Refusal why = Refusal::nothing_known;
  void* block = nullptr;
  if (Placer* placer = runtime().placer()) {
    std::array<std::size_t, k_most_tiers> tiers;
    const std::uint32_t locality = locality_of(placer->choices());
    const std::uint32_t life = allocator.life.load(std::memory_order_acquire);
    const std::size_t count = tiers_of(*placer, allocator, tiers);
    std::size_t served = 0;
    BlockRequest wanted;
    wanted.bytes = request.bytes;
    wanted.alignment = alignment_for(&allocator, request);
    wanted.required = allocator.required();
    wanted.pinned = allocator.traits.pinned;
    wanted.partition = partition_of(allocator);
    wanted.reason = wanted.required                         ? PlacementReason::required
                    : allocator.decided_tier != k_undecided ? PlacementReason::declared
                                                            : PlacementReason::preferred;
    wanted.allocator = allocator.number;
    wanted.watched = allocator.wants_to_know();
    wanted.caller = request.caller;
    count_in(allocator);
    block = place_on(*placer, {tiers.data(), count}, wanted, request.zeroed, why, served);
    if (block == nullptr)
      count_out(allocator, request.bytes, false);
    else if (served == 0 && chain == 0 && life != 0 && !allocator.wants_to_know() &&
             !wanted.pinned && !runtime().places_everything.load(std::memory_order_relaxed) &&
             wanted.partition != Partition::blocked && wanted.alignment <= 16 &&
             locality == locality_of(placer->choices()))
      learn_route(allocator, life, *placer, block, locality);
  }
  if (block != nullptr) return block;
  uncharge_pool(allocator, request);
  return fall_back(allocator, request, why, chain);
}

// Tiers of a list of kinds, in its order; returns how many.
std::size_t tiers_of_kinds(Placer& placer, std::span<const MemoryKind> kinds,
                           std::array<std::size_t, k_most_tiers>& tiers) {
  std::size_t count = 0;
  for (const MemoryKind kind : kinds) {
    const std::size_t before = count;
    for (std::size_t t = 0; t < placer.tier_count() && count < k_most_tiers; ++t)
      if (placer.kind_of_tier(t) == kind) tiers[count++] = t;
    if (count == before)
      warn_once(Notice::missing_tier,
                "The plan wants %s, which this machine lacks: the plan's next choice is taken.",
                title_of(kind).data());
  }
  return count;
}

// First come, first served to the page: what is left of faster tiers takes the block's begin.
void begin_in_faster_tier(Placer& placer, void* block) {
  BlockInfo info;
  if (!placer.find(block, true, info) || !info.large) return;
  for (std::size_t tier = 0; tier < placer.tier_count(); ++tier) {
    if (placer.kind_of_tier(tier) == info.extent->charged) return;
    if (placer.fill_front(block, tier) != 0) return;
  }
}

// Hottest first: each range goes to its kind as far as there is room left.
void place_parts(Placer& placer, void* block, std::span<const PlanPart> parts) {
  BlockInfo info;
  if (parts.empty() || !placer.find(block, true, info) || !info.large) return;
  for (const PlanPart& part : parts) {
    std::uint64_t begin = part.begin;
    for (std::size_t tier = 0; tier < placer.tier_count() && begin < part.end; ++tier)
      if (placer.kind_of_tier(tier) == part.kind)
        if (const std::size_t arrived = placer.place_part(block, begin, part.end, tier))
          begin += arrived;
  }
}

// A block placed by plan or strategy; null when these do not concern it or nothing has room.
void* place_everything(Placer& placer, Allocator* allocator, const AllocationRequest& request) {
  std::array<std::size_t, k_most_tiers> tiers;
  std::size_t count = 0;
  BlockRequest wanted;
  const Strategy& strategy = runtime().strategy();
  if (const PlanPlacement* plan = runtime().plan()) {
    PlanDecision decision = plan->decide(request.caller, request.bytes);
    if (request.named_only && decision.entry == 0) {
      if (request.plan_entry == 0) return nullptr;
      decision = {plan->plan().entries[request.plan_entry - 1].kinds, request.plan_entry,
                  request.plan_instance};
    }
    if (decision.kinds.empty()) return nullptr;
    if (allocator != nullptr && allocator->traits.placement == value::required) {
      if (runtime().source_wins.fetch_add(1, std::memory_order_relaxed) == 0)
        inform(
            Notice::plan_mismatch, "placement=required in the source overrules the plan's \"%s\".",
            decision.entry != 0 ? plan->plan().entries[decision.entry - 1].label.c_str() : "rest");
      return nullptr;
    }
    wanted.plan_entry = decision.entry;
    wanted.plan_instance = decision.instance;
    wanted.reason = PlacementReason::plan;
    count = tiers_of_kinds(placer, decision.kinds, tiers);
  } else if (!request.named_only && strategy.mode != Strategy::Mode::none &&
             request.bytes >= k_least_strategy_block) {
    wanted.reason = PlacementReason::strategy;
    for (std::size_t t = 0; t < placer.tier_count(); ++t)
      if (strategy.mode == Strategy::Mode::first_come || placer.kind_of_tier(t) == strategy.kind)
        tiers[count++] = t;
  } else {
    return nullptr;
  }
  wanted.bytes = request.bytes;
  wanted.alignment = alignment_for(allocator, request);
  wanted.pinned = allocator != nullptr && allocator->traits.pinned;
  wanted.partition = allocator != nullptr ? partition_of(*allocator) : Partition::environment;
  wanted.allocator = allocator != nullptr ? allocator->number : k_no_allocator;
  wanted.watched = allocator != nullptr && allocator->wants_to_know();
  wanted.caller = request.caller;

  if (allocator != nullptr) {
    if (!charge_pool(*allocator, request)) return nullptr;
    count_in(*allocator);
  }
  Refusal why = Refusal::none;
  std::size_t served = 0;
  void* block = place_on(placer, {tiers.data(), count}, wanted, request.zeroed, why, served);
  if (block != nullptr && wanted.plan_entry != 0)
    place_parts(placer, block, runtime().plan()->plan().entries[wanted.plan_entry - 1].parts);
  if (block != nullptr && strategy.mode == Strategy::Mode::first_come &&
      runtime().plan() == nullptr)
    begin_in_faster_tier(placer, block);
  if (block != nullptr) return block;
  if (allocator != nullptr) {
    uncharge_pool(*allocator, request);
    count_out(*allocator, request.bytes, false);
  }
  warn_once(
      Notice::capacity_exhausted,
      "%zu bytes fit into no memory that %s allows (%s): the runtime's default memory is used.",
      request.bytes, wanted.reason == PlacementReason::plan ? "the plan" : "the strategy",
      describe(why));
  return nullptr;
}

} // namespace

MemoryKind wanted_kind(const Allocator& allocator) {
  return kind_of(allocator.space).value_or(MemoryKind::unknown);
}

std::size_t tiers_of(Placer& placer, const Allocator& allocator,
                     std::array<std::size_t, k_most_tiers>& tiers) {
  const unsigned cpu = current_cpu();
  const ChoiceTable& choices = placer.choices();
  std::size_t count = 0;
  const auto add = [&](std::size_t tier) {
    if (tier < placer.tier_count() && count < k_most_tiers &&
        std::find(tiers.begin(), tiers.begin() + count, tier) == tiers.begin() + count)
      tiers[count++] = tier;
  };

  if (allocator.decided_tier != k_undecided) add(allocator.decided_tier);
  const TraitSet& traits = allocator.traits;
  const bool latency = traits.sensitivity == value::latency ||
                       traits.access_pattern == value::random ||
                       traits.access_pattern == value::pointer_chase;
  const Preference usual = latency ? Preference::latency : Preference::bandwidth;
  if (const auto kind =
          allocator.places_default_space() ? MemoryKind::dram : kind_of(allocator.space)) {
    for (std::size_t t = 0; t < placer.tier_count(); ++t)
      if (placer.kind_of_tier(t) == *kind) add(t);
  } else if (allocator.space != Space::automatic) {
    const Preference preference = allocator.space == Space::high_bw     ? Preference::bandwidth
                                  : allocator.space == Space::low_lat   ? Preference::latency
                                  : allocator.space == Space::large_cap ? Preference::capacity
                                                                        : Preference::read_only;
    const auto best = choices.tiers(preference, cpu);
    if (!best.empty()) add(best.front());
  }
  if (allocator.required()) return count;

  const auto order = choices.tiers(usual, cpu);
  if (is_cold(traits))
    for (auto tier = order.rbegin(); tier != order.rend(); ++tier)
      add(*tier);
  else
    for (const std::size_t tier : order)
      add(tier);
  return count;
}

namespace {

// An allocator that was destroyed before, or a number that is none: what happens then is left open
// by the specification. To libomp the handle would be a pointer of its own.
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
    if (Placer* placer = state.placer()) *block = place_everything(*placer, allocator, request);
  if (*block == nullptr && allocator != nullptr) {
    *block = allocate_from(*allocator, request, 0);
  } else if (*block == nullptr) {
    if (!destroyed) return false;
    *block = memory_of_destroyed(request);
  }
  if (*block != nullptr) report_allocated(*block, request.bytes, request.handle, request.caller);
  return true;
}

namespace {

// Where the block has room for the new size, and its pool too.
bool resize_in_place(Placer& placer, Allocator* owner, void* block, const BlockInfo& info,
                     std::size_t bytes) {
  if (owner != nullptr && !recharge_pool(*owner, info.bytes, bytes)) return false;
  if (placer.resize_in_place(block, bytes)) return true;
  Replaced replaced{owner, info.bytes, true};
  if (owner != nullptr) uncharge_pool(*owner, {.bytes = bytes, .replaced = &replaced});
  return false;
}

// Takes a block of libomp's off the books. charged: as above.
void release_stock(void* block, bool charged) {
  if (block == nullptr) return;
  report_released(block);
  Runtime& state = runtime();
  if (state.stock_blocks.empty()) return;
  StockBlock removed;
  if (!state.stock_blocks.remove(block, removed)) return;
  if (Allocator* allocator = state.allocators.by_number(removed.allocator))
    count_out(*allocator, removed.bytes, charged && removed.reason == StockReason::default_space);
}

// Frees a block of ours. charged: its bytes are still charged to its allocator's pool.
void release_block(Placer& placer, void* block, const BlockInfo& info, bool charged) {
  report_released(block);
  Allocator* allocator = runtime().allocators.by_number(info.allocator);
  // First, for the allocator's entry may be another's once its last block is gone.
  if (allocator != nullptr) count_out(*allocator, info.bytes, charged);
  placer.release(block);
}

} // namespace

bool release(void* block) {
  Runtime& state = runtime();
  Placer* placer = state.placer_if_ready();
  if (block == nullptr || placer == nullptr || !placer->holds(block)) return false;
  BlockInfo info;
  if (!placer->find(block, true, info)) return true; // freed before: nothing is known to do
  release_block(*placer, block, info, true);
  return true;
}

OmpValue owner_of(const void* block) {
  Runtime& state = runtime();
  Placer* placer = state.placer_if_ready();
  const Allocator* owner = nullptr;
  BlockInfo info;
  StockBlock stock;
  if (placer != nullptr && placer->holds(block)) {
    if (placer->find(block, true, info)) owner = state.allocators.by_number(info.allocator);
    // Placed by plan or strategy for an allocator of libomp's: which one is not known any more.
    return owner != nullptr ? owner->handle : k_default_mem_alloc;
  }
  if (!state.stock_blocks.empty() && state.stock_blocks.find_exact(block, stock))
    owner = state.allocators.by_number(stock.allocator);
  if (owner != nullptr) return owner->handle;
  const omptier_runtime* libomp = state.libomp.load(std::memory_order_acquire);
  return libomp != nullptr ? libomp->stock_owner(block) : k_null_allocator;
}

bool reallocate(void* block, std::size_t bytes, OmpValue handle, const void* caller,
                void** result) {
  Runtime& state = runtime();
  *result = nullptr;
  if (block == nullptr) return allocate({bytes, 0, handle, false, caller}, result);
  Placer* placer = state.placer_if_ready();
  BlockInfo info;
  const bool ours = placer != nullptr && placer->holds(block);
  if (ours && !placer->find(block, true, info)) return true;
  if (bytes == 0) {
    if (ours) release(block);
    return ours;
  }

  const bool handle_ours = state.allocators.find(handle) != nullptr;
  const omptier_runtime* libomp = state.libomp.load(std::memory_order_acquire);
  if (!ours) {
    if (!handle_ours && !state.places_everything.load(std::memory_order_relaxed) &&
        !state.allocators.made_here(handle) && !AllocatorTable::is_no_handle(handle))
      return false;
    StockBlock stock;
    Replaced replaced;
    if (!state.stock_blocks.empty() && state.stock_blocks.find_exact(block, stock) &&
        stock.reason == StockReason::default_space)
      replaced = {state.allocators.by_number(stock.allocator), stock.bytes};
    if (libomp == nullptr || !allocate({bytes, 0, handle, false, caller, &replaced}, result))
      return false;
    if (*result == nullptr) return true;
    std::memcpy(*result, block, std::min(bytes, libomp->stock_size(block)));
    release_stock(block, !replaced.taken_over);
    libomp->stock_free(block);
    return true;
  }

  Allocator* owner = state.allocators.by_number(info.allocator);
  const bool same = owner != nullptr ? owner->handle == handle : !handle_ours;
  if (same && resize_in_place(*placer, owner, block, info, bytes)) {
    report_released(block);
    report_allocated(block, bytes, handle, caller);
    *result = block;
    return true;
  }
  Replaced replaced{owner, info.bytes};
  if (!allocate({bytes, 0, handle, false, caller, &replaced}, result)) {
    *result = stock_allocate(bytes, k_least_alignment, handle != 0 ? handle : k_default_mem_alloc);
    if (*result != nullptr) report_allocated(*result, bytes, handle, caller);
  }
  if (*result == nullptr) return true; // the old block stays
  std::memcpy(*result, block, std::min(bytes, info.bytes));
  release_block(*placer, block, info, !replaced.taken_over);
  return true;
}

void stock_allocated(void* block, std::size_t bytes, OmpValue handle, const void* caller) {
  report_allocated(block, bytes, handle, caller);
}

void report_resized(void* block, std::size_t bytes, const void* caller) {
  report_released(block);
  report_allocated(block, bytes, k_null_allocator, caller);
}

void stock_released(void* block) {
  release_stock(block, true);
}

} // namespace omptier
