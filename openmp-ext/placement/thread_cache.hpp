// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one thread keeps for itself, so that most calls touch nothing shared: magazines of free
// blocks by heap and class, counts of what it allocated and freed by allocator, and routes (which
// magazines serve which handle). It lies in pages of our own; the thread reaches it through one
// pointer of thread-local storage.
//
// A block freed by another thread than its allocator's goes into the magazine of the thread that
// frees; full magazines give half of their blocks back under the class's lock. Magazines that saw
// no traffic for a while are emptied when their thread next comes by a slow path, all of them when
// memory is short (flush_all_later).
//
// At a thread's end its blocks and counts go back (pthread key destructor). What it allocates or
// frees after that, in destructors of others, goes straight to the heaps. In a child made by fork
// the caches of the threads that are not there are taken apart. Nothing is ever destroyed.
#pragma once

#include "placement/span.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace omptier {

inline constexpr unsigned k_most_heaps = 256; // with magazines; others serve without

struct Magazine {
  FreeBlock* slots = nullptr;
  std::uint16_t count = 0;
  std::uint16_t capacity = 0; // 0: not made yet
  std::uint16_t batch = 1;    // blocks taken at the next refill; doubles up to half the capacity
  bool used = false;          // refilled or emptied since the last look
};

// Magazines of one thread for one heap. At a thread's end they pass to another thread, empty.
struct HeapCache {
  Heap* heap = nullptr;
  HeapCache* next_spare = nullptr;
  std::array<Magazine, k_size_classes> magazines;
};

// Blocks and bytes that one thread allocated less those it freed. Written by its thread alone, read
// by who sums up.
struct LiveCount {
  std::atomic<std::uint32_t> allocator{0}; // 0: entry not in use
  bool exact = false; // the allocator counts for itself too (pool_size): no short way
  std::atomic<std::int64_t> blocks{0}, bytes{0};

  void add(std::int64_t more_blocks, std::int64_t more_bytes) {
    blocks.store(blocks.load(std::memory_order_relaxed) + more_blocks, std::memory_order_relaxed);
    bytes.store(bytes.load(std::memory_order_relaxed) + more_bytes, std::memory_order_relaxed);
  }
};

inline constinit std::atomic<std::uint32_t> g_no_life{0};

// A short way from a handle to magazines, learnt from an allocation that went the long one.
struct Route {
  std::uintptr_t handle = 0;
  const std::atomic<std::uint32_t>* life = &g_no_life; // of the allocator; changes when it ends
  std::uint32_t expected_life = 1;                     // so that an empty route never serves
  std::uint32_t allocator = 0;                         // number
  std::uint32_t locality = 0;                          // of the processors it was learnt on
  LiveCount* count = nullptr;
  HeapCache* cache = nullptr;
};

struct alignas(64) ThreadCache {
  static constexpr unsigned k_routes = 32;
  static constexpr unsigned k_counts = 64;

  std::array<Route, k_routes> routes;
  std::array<LiveCount, k_counts> counts;
  std::array<HeapCache*, k_most_heaps + 1> heaps{}; // the last: of heaps without a number, null
  ThreadCache *previous = nullptr, *next = nullptr; // of all threads
  std::uint64_t next_look = 0;                      // when unused magazines are looked for, ns
  std::uint32_t flush_seen = 0;                     // value of flush_all_later's counter

  static unsigned route_of(std::uintptr_t handle) {
    return static_cast<unsigned>((handle >> 8 ^ handle) % k_routes);
  }

  // The calling thread's; null before its first use.
  static ThreadCache* mine();
  // The calling thread's, made when it has none; null when memory is refused or the thread ends.
  static ThreadCache* make_mine();
  // A magazine ready for use, or null.
  Magazine* magazine(Heap& heap, unsigned size_class);
  // The entry of an allocator; the one that had its place is folded into the common count.
  LiveCount& count_of(std::uint32_t allocator, bool exact);
  // Gives back what was not used for a while (ns), or all when that was asked for; cheap when
  // nothing is due. Slow paths call it, without locks.
  void look_after(std::uint64_t decay);
  void flush();
};

namespace thread_caches {

// Adds to an allocator's count, on any path.
void count(std::uint32_t allocator, bool exact, std::int64_t blocks, std::int64_t bytes);
struct Live {
  std::int64_t blocks = 0, bytes = 0;
};
// Sum over all threads; exact when no other thread allocates from or frees to it meanwhile.
Live live(std::uint32_t allocator);

// Every thread empties its magazines when it next comes by a slow path.
void flush_all_later();
// Blocks in all threads' magazines of a heap and class. For checks, while no thread uses them.
std::uint32_t kept(const Heap& heap, unsigned size_class);

// A number for a heap, or k_most_heaps when all are given out. Only tests ever end a heap: no other
// thread may use it then.
unsigned register_heap(Heap& heap);
void forget_heap(Heap& heap);

// fork: before the heaps' locks. forget_others in the child, with the heaps locked.
void lock();
void unlock();
void forget_others();

} // namespace thread_caches

// Null before the first use; an empty cache that matches nothing after the thread's end.
extern constinit thread_local ThreadCache* t_thread_cache
    __attribute__((tls_model("initial-exec")));

inline ThreadCache* ThreadCache::mine() {
  return t_thread_cache;
}

} // namespace omptier
