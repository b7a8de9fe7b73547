// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Per-thread state that keeps most calls away from shared data: magazines of free blocks by heap
// and class, and routes (which magazines serve which handle). In pages of our own, reached through
// one pointer of thread-local storage.
//
// A block goes into the magazine of the thread that frees it, whoever allocated it; full magazines
// give half of their blocks back under the class's lock. Magazines unused for a while are emptied
// in their thread's next slow path, all of them when memory is short (flush_all_later). At a
// thread's end its blocks go back (pthread key destructor); its later calls, in destructors of
// others, use the heaps directly. In a forked child the caches of the missing threads are
// dissolved. Nothing is ever destroyed.
#pragma once

#include "placement/span.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace omptier {

inline constexpr unsigned k_most_heaps = 256; // with magazines; others work without

// Blocks of a thread's first refill: enough that they and their records fill cache lines of their
// own, so that two threads that use one block each do not write the same lines.
inline constexpr unsigned k_first_batch = 8;
constexpr unsigned first_batch(unsigned size_class) {
  return std::min(k_first_batch, magazine_capacity(size_class) / 2);
}

struct Magazine {
  FreeBlock* top = nullptr; // after the last
  FreeBlock* begin = nullptr;
  FreeBlock* end = nullptr; // equal to begin until first used
  std::uint16_t batch = 0;  // blocks of the last refill; doubles up to half the capacity
  bool used = false;        // refilled or emptied since the last look

  unsigned count() const { return static_cast<unsigned>(top - begin); }
  unsigned capacity() const { return static_cast<unsigned>(end - begin); }
  bool is_empty() const { return top == begin; }
  bool is_full() const { return top == end; }
  // Stored before it counts: in a forked child, everything below the top is this thread's.
  [[gnu::always_inline]] void push(const FreeBlock& block) {
    *top = block;
    std::atomic_signal_fence(std::memory_order_release);
    ++top;
  }
  // For giving all blocks back: they leave the magazine before others can take them.
  unsigned take_all() {
    const unsigned all = count();
    top = begin;
    batch = 0;
    return all;
  }
};

// At a thread's end its HeapCache passes to another thread, empty.
struct alignas(64) HeapCache {
  Heap* heap = nullptr;
  HeapCache* next_spare = nullptr;
  std::array<Magazine, k_size_classes + 1> magazines; // the last, for 0 bytes, has no room
};
// Used where there is none: every magazine is both empty and full, and never written.
extern constinit HeapCache g_no_heap_cache;

inline constinit std::atomic<std::uint32_t> g_no_life{0};

// Learnt from an allocation that took the slow path.
struct alignas(64) Route {
  std::uintptr_t handle = 0;
  const std::atomic<std::uint32_t>* life = &g_no_life; // of the allocator; changes when it ends
  std::uint32_t expected_life = 1;                     // so that an empty route never matches
  std::uint32_t owner_bits = 0;                        // of the records; never watched
  std::uint32_t locality = 0;                          // of the processors that it was learnt on
  HeapCache* cache = nullptr;
};

struct alignas(64) ThreadCache {
  static constexpr unsigned k_route_bits = 5;
  static constexpr unsigned k_routes = 1 << k_route_bits;

  std::array<Route, k_routes> routes;
  // Each is g_no_heap_cache until needed; the last, for heaps without a number, always is.
  std::array<HeapCache*, k_most_heaps + 1> heaps = no_heaps();
  ThreadCache *previous = nullptr, *next = nullptr; // list of all threads' caches
  std::uint64_t next_look = 0;                      // when unused magazines are next looked for, ns
  std::uint32_t flush_seen = 0;                     // value of flush_all_later's counter

  static unsigned route_of(std::uintptr_t handle) {
    return static_cast<std::uint32_t>(handle) * 0x9e3779b1u >> (32 - k_route_bits);
  }

  // The calling thread's. Before its first use and after its end: one without routes and heaps,
  // which must not be written.
  static ThreadCache& mine();
  // The calling thread's, created if missing; null when memory is refused or the thread ends.
  static ThreadCache* make_mine();
  // Null if none is available.
  Magazine* magazine(Heap& heap, unsigned size_class);
  // Gives back what was unused for a while (ns), or everything after flush_all_later; cheap when
  // nothing is due. Called by slow paths, without locks.
  void look_after(std::uint64_t decay);
  void flush();

private:
  static constexpr std::array<HeapCache*, k_most_heaps + 1> no_heaps() {
    std::array<HeapCache*, k_most_heaps + 1> none{};
    none.fill(&g_no_heap_cache);
    return none;
  }
};

namespace thread_caches {

// Makes every thread empty its magazines in its next slow path.
void flush_all_later();
// Blocks in all threads' magazines of a heap and class. For checks, while no thread uses them.
std::uint32_t kept(const Heap& heap, unsigned size_class);

// A number for a heap, or k_most_heaps when all are taken. Only tests destroy heaps.
unsigned register_heap(Heap& heap);
void forget_heap(Heap& heap);

// For fork: locked before the heaps'. forget_others: in the child, with the heaps unlocked.
void lock();
void unlock();
void forget_others();

} // namespace thread_caches

// Never null.
extern constinit thread_local ThreadCache* t_thread_cache
    __attribute__((tls_model("initial-exec")));

inline ThreadCache& ThreadCache::mine() {
  return *t_thread_cache;
}

} // namespace omptier
