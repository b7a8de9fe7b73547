// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fast path of a small block. When the slow path has served an allocation from its allocator's
// first tier, it leaves a route in the thread's cache: handle -> magazines. The next allocation of
// that handle takes a block from these magazines, if the allocator's life is unchanged (it also
// changes when an observer attaches) and the processor sees memory like the one before. A free goes
// into the magazine of the span's class. Anything unusual (empty or full magazine, pool, plan,
// observer, foreign address) takes the slow path, which is always correct and leaves to libomp what
// is not ours.
#pragma once

#include "allocators/runtime.hpp"
#include "base/os.hpp"
#include "placement/heap.hpp"

namespace omptier {

inline constexpr std::uint32_t k_any_locality = ~0u;

// Index in the choice table of the place from which the calling thread sees memory.
inline std::uint32_t locality_of(const ChoiceTable& choices) {
  if (choices.places() == 1) return k_any_locality;
  return choices.place_of(current_cpu());
}

// Set in expected_life if the processor matters, so that the first comparison always fails.
inline constexpr std::uint32_t k_by_place = 1u << 31;

// libomp's own function, for what is not ours.
using Otherwise = void* (*)(std::size_t, std::size_t, OmpValue, const void*);
// The slow path (hooks.cpp). Not inlined, because the fast path would have to save registers.
[[gnu::noinline]] void* allocate_fully(std::size_t bytes, std::size_t alignment, OmpValue handle,
                                       const void* caller, Otherwise otherwise);
[[gnu::noinline]] void release_fully(void* block, OmpValue handle,
                                     void (*otherwise)(void*, OmpValue));

// No slower path here: otherwise at once.
inline void* leave_it(std::size_t bytes, std::size_t alignment, OmpValue handle, const void* caller,
                      Otherwise otherwise) {
  return otherwise(bytes, alignment, handle, caller);
}
// For what the fast path leaves: the slow path of omp_alloc, or leave_it.
using Fully = decltype(allocate_fully);

// Every exit is a tail call, so that no registers are saved.
template <Fully& fully>
[[gnu::always_inline]] inline void*
take_from(const Route& route, Magazine& magazine, std::size_t bytes, std::size_t alignment,
          OmpValue handle, const void* caller, Otherwise otherwise) {
  if (magazine.is_empty()) return fully(bytes, alignment, handle, caller, otherwise);
  const FreeBlock taken = *--magazine.top;
  if (taken.record->is_live()) [[unlikely]] // was freed by two threads at the same time
    return fully(bytes, alignment, handle, caller, otherwise);
  taken.record->hand_out_unwatched(static_cast<std::uint32_t>(bytes), route.owner_bits, caller);
  return reinterpret_cast<void*>(taken.begin);
}

// For routes that depend on the processor, and for larger sizes.
template <Fully& fully>
[[gnu::noinline]] inline void* allocate_less_quickly(std::size_t bytes, std::size_t alignment,
                                                     OmpValue handle, const void* caller,
                                                     Otherwise otherwise) {
  const Route& route = ThreadCache::mine().routes[ThreadCache::route_of(handle)];
  const std::uint32_t life = route.life->load(std::memory_order_relaxed);
  if (bytes - 1 >= k_large_block - 1 || (route.expected_life | k_by_place) != (life | k_by_place))
    return fully(bytes, alignment, handle, caller, otherwise);
  if ((route.expected_life & k_by_place) != 0 &&
      route.locality != locality_of(runtime_if_made()->placer_if_ready()->choices()))
    return fully(bytes, alignment, handle, caller, otherwise);
  return take_from<fully>(route, route.cache->magazines[class_of_bytes(bytes)], bytes, alignment,
                          handle, caller, otherwise);
}

template <Fully& fully>
[[gnu::noinline]] inline void* allocate_quickly(std::size_t bytes, std::size_t alignment,
                                                OmpValue handle, const void* caller,
                                                Otherwise otherwise) {
  const Route& route = ThreadCache::mine().routes[ThreadCache::route_of(handle)];
  if (route.handle != handle || alignment > 16)
    return fully(bytes, alignment, handle, caller, otherwise);
  if (route.life->load(std::memory_order_relaxed) != route.expected_life ||
      bytes > k_largest_looked_up)
    return allocate_less_quickly<fully>(bytes, alignment, handle, caller, otherwise);
  const std::size_t size_class = k_class_of_sixteenths[(bytes + 15) / 16];
  return take_from<fully>(route, route.cache->magazines[size_class], bytes, alignment, handle,
                          caller, otherwise);
}

// False: take the slow path.
[[gnu::always_inline]] inline bool release_quickly(void* block) {
  const Span* span = g_quick_spans.load(std::memory_order_acquire)->find(block);
  if (span == nullptr) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  if (!span->is_begin(begin)) return false;
  BlockRecord* record = span->record_from(begin);
  if (!record->is_live_and_unwatched()) return false;
  Magazine& magazine = ThreadCache::mine().heaps[span->heap]->magazines[span->size_class];
  if (magazine.is_full()) return false;
  record->clear();
  magazine.push({begin, record});
  return true;
}

// What a route is for: a handle, its life and that life's value when tiers were chosen, and the
// number of the allocator that owns the blocks.
struct RouteOf {
  OmpValue handle;
  const std::atomic<std::uint32_t>& life;
  std::uint32_t life_then;
  std::uint32_t owner;
};

// To be called after a small block came from the first tier.
inline void learn_route(const RouteOf& of, const Placer& placer, const void* block,
                        std::uint32_t locality) {
  // Closing the fast paths changes lives afterwards, which also ends routes learnt meanwhile.
  if (g_quick_spans.load(std::memory_order_acquire) == &g_no_spans) return;
  ThreadCache& cache = ThreadCache::mine();
  const Span* span = placer.ranges().span_of(block);
  if (span == nullptr) return;
  const unsigned heap = Heap::of(*span).number();
  if (cache.heaps[heap] == &g_no_heap_cache) return;
  const std::uint32_t by_place = locality != k_any_locality ? k_by_place : 0;
  cache.routes[ThreadCache::route_of(of.handle)] = {
      of.handle, &of.life,         of.life_then | by_place, BlockRecord::owner_bits(of.owner),
      locality,  cache.heaps[heap]};
}

} // namespace omptier
