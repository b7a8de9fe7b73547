// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The semantics of an OpenMP allocation: pool, alignment, order of tiers, fallback (allocation.cpp,
// planned.cpp); and of freeing and resizing (release.cpp). Called by the hooks and tests.
#pragma once

#include "allocators/charges.hpp"
#include "allocators/runtime.hpp"
#include "allocators/tier_order.hpp"

namespace omptier {

inline constexpr int k_longest_fallback_chain = 16;

struct AllocationRequest {
  std::size_t bytes = 0;
  std::size_t alignment = 0; // given by the call, 0 = none
  OmpValue handle = 0;       // as passed; the default allocator is already resolved
  bool zeroed = false;
  const void* caller = nullptr;
  Replaced* replaced = nullptr;
  // The plan decides on malloc's blocks only at sites that it names; its "rest" does not apply.
  // plan_entry (1 + index), if not 0, decides where the site is not named.
  bool by_malloc = false;
  std::uint32_t plan_entry = 0;
  std::uint32_t plan_instance = 0;
};

// False: not ours, the runtime serves it. True: *block is the result (null by null_fb).
bool allocate(const AllocationRequest& request, void** block);
// False: not a block of ours.
bool release(void* block);
OmpValue owner_of(const void* block);
// What a runtime frees its own block with: 0 in place of an allocator served here, whose fallback
// the block was. It may take a handle for a pointer: libomp does beside an offload runtime.
OmpValue stock_handle(OmpValue handle);
// omp_realloc to one byte or more, with resolved allocators. False: not ours.
bool reallocate(void* block, std::size_t bytes, OmpValue handle, const void* caller, void** result);

void stock_released(void* block);
// Tells the observer.
void report_resized(void* block, std::size_t bytes, const void* caller);

// The table that libomp gets (hooks.cpp).
const omptier_hooks* openmp_hooks();

inline constexpr OmpValue k_default_mem_alloc = 1;
inline constexpr std::size_t k_least_alignment = 16; // of every block of ours, as malloc's

// allocator null: none of ours. The reason is not set.
BlockRequest block_request(const Allocator* allocator, const AllocationRequest& request);
struct Placed {
  void* block = nullptr;               // null when all refused
  std::size_t tier = 0;                // that has the block
  Refusal why = Refusal::no_such_kind; // of the last tier that refused
};
Placed place_on(Placer& placer, const TierOrder& tiers, BlockRequest block, bool zeroed);
// libomp's own memory; on a runtime that never attached, the C library's. Not zeroed.
void* stock_allocate(std::size_t bytes, std::size_t alignment, OmpValue handle);

} // namespace omptier
