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

// Whether the processor matters for a route.
enum class Where : std::uint8_t { anywhere, compared };

using LongWay = void* (*)(std::size_t, std::size_t, OmpValue, const void*);

// A block, or what the long way says. (All ends are tail calls, so that the short way saves no
// registers.)
template <Where where = Where::anywhere>
[[gnu::noinline]] void* allocate_quickly(std::size_t bytes, std::size_t alignment, OmpValue handle,
                                         const void* caller, LongWay otherwise) {
  ThreadCache* cache = ThreadCache::mine();
  if (cache == nullptr || bytes - 1 >= k_large_block - 1 || alignment > 16)
    return otherwise(bytes, alignment, handle, caller);
  const Route& route = cache->routes[ThreadCache::route_of(handle)];
  if (route.handle != handle || route.life->load(std::memory_order_relaxed) != route.expected_life)
    return otherwise(bytes, alignment, handle, caller);
  if (g_quick_ranges.load(std::memory_order_relaxed) == nullptr)
    return otherwise(bytes, alignment, handle, caller);
  if constexpr (where == Where::compared) {
    if (route.locality != locality_of(runtime_if_made()->placer_if_ready()->choices()))
      return otherwise(bytes, alignment, handle, caller);
  } else if (route.locality != k_any_locality) {
    return allocate_quickly<Where::compared>(bytes, alignment, handle, caller, otherwise);
  }
  Magazine& magazine = route.cache->magazines[class_of_bytes(bytes)];
  if (magazine.is_empty()) return otherwise(bytes, alignment, handle, caller);
  const FreeBlock taken = *--magazine.top;
  taken.record->hand_out(static_cast<std::uint32_t>(bytes), route.owner, caller);
  return reinterpret_cast<void*>(taken.begin);
}

// False: go the long way.
[[gnu::always_inline]] inline bool release_quickly(void* block) {
  ThreadCache* cache = ThreadCache::mine();
  const ReservedRanges* ranges = g_quick_ranges.load(std::memory_order_acquire);
  if (cache == nullptr || ranges == nullptr) return false;
  const Span* span = ranges->span_in_first(block);
  if (span == nullptr) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  BlockRecord* record = span->record_at(begin);
  HeapCache* of_heap = cache->heaps[span->heap];
  if (record == nullptr || of_heap == nullptr) return false;
  Magazine& magazine = of_heap->magazines[span->size_class];
  if (record->bytes() == 0 || record->watched() || magazine.is_full()) return false;
  record->clear();
  magazine.push({begin, record});
  return true;
}

// Remembers that a small block of the allocator came from the first of its tiers. life: of the
// allocator when these were chosen.
inline void learn_route(const Allocator& allocator, std::uint32_t life, const Placer& placer,
                        const void* block, std::uint32_t locality) {
  ThreadCache* cache = ThreadCache::mine();
  const Span* span = placer.ranges().span_of(block);
  if (cache == nullptr || span == nullptr) return;
  const unsigned heap = Heap::of(*span).number();
  if (heap >= k_most_heaps || cache->heaps[heap] == nullptr) return;
  cache->routes[ThreadCache::route_of(allocator.handle)] = {
      allocator.handle, &allocator.life, life, allocator.number, locality, cache->heaps[heap]};
}

} // namespace omptier
