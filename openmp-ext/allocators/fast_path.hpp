// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The short way of a small block. An allocation that went the long way (pool, alignment, which
// tiers, fallback) and was served by the first tier of its allocator leaves a route in its thread's
// cache: handle -> magazines. The next one of that handle takes a block from these magazines, if
// the allocator still lives, nobody observes, and the processor is one from which everything looks
// as it did. A free goes into the magazine of the span's class. Anything unusual (empty or full
// magazine, pool, plan, observer, foreign address) returns to the long way, which is always right.
#pragma once

#include "allocators/runtime.hpp"
#include "placement/heap.hpp"

#include <sched.h>

namespace omptier {

inline constexpr std::uint32_t k_any_locality = ~0u;

// From where the calling thread looks at memory.
inline std::uint32_t locality_of(const ChoiceTable& choices) {
  if (choices.places() == 1) return k_any_locality;
  const int cpu = ::sched_getcpu();
  return choices.place_of(cpu >= 0 ? static_cast<unsigned>(cpu) : 0);
}

// A block, or null: go the long way.
inline void* allocate_quickly(std::size_t bytes, std::size_t alignment, OmpValue handle,
                              const void* caller) {
  ThreadCache* cache = ThreadCache::mine();
  Runtime* state = runtime_if_made();
  if (cache == nullptr || state == nullptr || bytes - 1 >= k_large_block - 1 || alignment > 16)
    return nullptr;
  const Route& route = cache->routes[ThreadCache::route_of(handle)];
  if (route.handle != handle ||
      route.life->load(std::memory_order_relaxed) != route.expected_life ||
      state->observer.load(std::memory_order_relaxed) != nullptr)
    return nullptr;
  if (route.locality != k_any_locality &&
      route.locality != locality_of(state->placer_if_ready()->choices()))
    return nullptr;
  Magazine& magazine = route.cache->magazines[class_of_bytes(bytes)];
  if (magazine.count == 0) return nullptr;
  const FreeBlock block = magazine.slots[--magazine.count];
  block.record->hand_out(static_cast<std::uint32_t>(bytes), route.allocator, caller);
  route.count->add(1, static_cast<std::int64_t>(bytes));
  return reinterpret_cast<void*>(block.begin);
}

// False: go the long way.
inline bool release_quickly(void* block) {
  ThreadCache* cache = ThreadCache::mine();
  Runtime* state = runtime_if_made();
  if (cache == nullptr || state == nullptr) return false;
  const Placer* placer = state->placer_if_ready();
  if (placer == nullptr || state->observer.load(std::memory_order_relaxed) != nullptr) return false;
  const Span* span = placer->ranges().span_of(block);
  if (span == nullptr) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  BlockRecord* record = span->record_at(begin);
  HeapCache* of_heap = cache->heaps[span->heap];
  if (record == nullptr || of_heap == nullptr) return false;
  const std::uint32_t bytes = record->bytes();
  const std::uint32_t allocator = record->allocator();
  LiveCount& count = cache->counts[allocator % ThreadCache::k_counts];
  Magazine& magazine = of_heap->magazines[span->size_class];
  if (bytes == 0 || magazine.count == magazine.capacity || count.exact ||
      count.allocator.load(std::memory_order_relaxed) != allocator)
    return false;
  record->clear();
  magazine.slots[magazine.count++] = {begin, record};
  count.add(-1, -static_cast<std::int64_t>(bytes));
  return true;
}

// Remembers that a small block of the handle came from the first of its tiers.
inline void learn_route(OmpValue handle, const Allocator& allocator, const Placer& placer,
                        const void* block, std::uint32_t locality) {
  ThreadCache* cache = ThreadCache::mine();
  const Span* span = placer.ranges().span_of(block);
  if (cache == nullptr || span == nullptr) return;
  const unsigned heap = Heap::of(*span).number();
  if (heap >= k_most_heaps || cache->heaps[heap] == nullptr) return;
  LiveCount& count = cache->count_of(allocator.number, false);
  cache->routes[ThreadCache::route_of(handle)] = {handle,
                                                  &allocator.life,
                                                  allocator.life.load(std::memory_order_relaxed),
                                                  allocator.number,
                                                  locality,
                                                  &count,
                                                  cache->heaps[heap]};
}

} // namespace omptier
