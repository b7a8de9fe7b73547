// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an OpenMP allocation means: pool, alignment, which tiers in which order, fallback; and the
// same for freeing and resizing. The hooks (for libomp) and tests call this.
#pragma once

#include "allocators/runtime.hpp"

namespace omptier {

inline constexpr int k_longest_fallback_chain = 16;

// The live block that an allocation is to replace (omp_realloc): of its own pool, only the
// difference is counted.
struct Replaced {
  const Allocator* charged = nullptr; // allocator whose pool its bytes are charged to
  std::size_t bytes = 0;
  bool taken_over = false; // its charge belongs to the new block now
};

struct AllocationRequest {
  std::size_t bytes = 0;
  std::size_t alignment = 0; // of the call, 0 = none named
  OmpValue handle = 0;       // as passed, default allocator resolved
  bool zeroed = false;
  const void* caller = nullptr;
  Replaced* replaced = nullptr;
  // Only a site that the plan names concerns us, not its rest and no strategy (malloc). With a
  // plan_entry (1 + index), that entry decides where the site is not named.
  bool named_only = false;
  std::uint32_t plan_entry = 0;
  std::uint32_t plan_instance = 0;
};

// False: not ours, the runtime serves it. True: *block is the result (null by null_fb).
bool allocate(const AllocationRequest& request, void** block);
// Gives the bytes of a block back to its allocator's pool_size.
void uncharge_pool(Allocator& allocator, std::size_t bytes);
// False: not a block of ours.
bool release(void* block);
// Allocator of a live block, whoever allocated it: for omp_realloc without one.
OmpValue owner_of(const void* block);
// As omp_realloc, allocators resolved. False: not ours.
bool reallocate(void* block, std::size_t bytes, OmpValue handle, const void* caller, void** result);

// The runtime served (or is about to free) a block itself.
void stock_allocated(void* block, std::size_t bytes, OmpValue handle, const void* caller);
void stock_released(void* block);
// A block of ours kept its place in a new size (for the observer).
void report_resized(void* block, std::size_t bytes, const void* caller);

// The table that libomp gets (hooks.cpp).
const omptier_hooks* openmp_hooks();

// omp_init_allocator: false = nothing of ours is named. *handle 0 = refused (said on stderr).
bool init_allocator(OmpValue space, std::span<const TraitPair> traits, OmpValue* handle);
// The two halves of it.
bool concerns_us(OmpValue space, std::span<const TraitPair> traits);
void make_allocator(OmpValue space, std::span<const TraitPair> traits, OmpValue* handle);
// What it reads: space number and traits, put over what set holds. False and problem when refused.
bool read_allocator(OmpValue number, std::span<const TraitPair> traits, Space& space, TraitSet& set,
                    TraitProblem& problem);

// Which tiers an allocator asks, first to last; returns how many. Only the first kind's where
// placement is required.
std::size_t tiers_of(Placer& placer, const Allocator& allocator,
                     std::array<std::size_t, k_most_tiers>& tiers);
// Kind that comes first for the allocator; unknown when this machine lacks it or any will do.
MemoryKind wanted_kind(const Allocator& allocator);

} // namespace omptier
