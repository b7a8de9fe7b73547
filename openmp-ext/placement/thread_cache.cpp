// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creates and retires thread caches. One lock protects the list of all caches and the tables below;
// it comes before the heaps' locks. Fast paths never take it.
#include "placement/thread_cache.hpp"

#include "base/linked_list.hpp"
#include "base/os.hpp"
#include "base/rounding.hpp"
#include "placement/heap.hpp"

#include <algorithm>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>

namespace omptier {

constinit HeapCache g_no_heap_cache{};

namespace {

// A thread's cache before its first use and after its end: no route, no heap.
constinit ThreadCache g_not_begun{}, g_ended{};

} // namespace

constinit thread_local ThreadCache* t_thread_cache __attribute__((tls_model("initial-exec"))) =
    &g_not_begun;

namespace {

constinit std::mutex g_lock;
constinit PageArena g_arena;
constinit ThreadCache* g_caches = nullptr; // of living threads
constinit ThreadCache* g_spare = nullptr;  // of ended ones
constinit HeapCache* g_spare_heaps = nullptr;
constinit std::array<Heap*, k_most_heaps> g_heaps{};
constinit std::atomic<std::uint32_t> g_flushes{0};
pthread_key_t g_key;
constinit bool g_key_made = false;

// Whole cache lines, so that different threads never write the same one. The caller holds the lock.
void* take_lines(std::size_t bytes) {
  constexpr std::size_t k_line = 64;
  void* storage = g_arena.take(round_up(bytes, k_line) + k_line);
  if (storage == nullptr) return nullptr;
  return reinterpret_cast<void*>(round_up(reinterpret_cast<std::uintptr_t>(storage), k_line));
}

// From the list of living threads to the spare ones, with empty magazines and the lock held.
void retire(ThreadCache& cache) {
  cache.routes.fill({});
  remove(g_caches, &cache);
  cache.next = g_spare;
  g_spare = &cache;
}

void thread_ends(void* argument) {
  auto* cache = static_cast<ThreadCache*>(argument);
  t_thread_cache = &g_ended;
  cache->flush();
  const std::lock_guard guard(g_lock);
  retire(*cache);
}

} // namespace

ThreadCache* ThreadCache::make_mine() {
  if (t_thread_cache != &g_not_begun) return t_thread_cache == &g_ended ? nullptr : t_thread_cache;
  ThreadCache* cache = nullptr;
  {
    const std::lock_guard guard(g_lock);
    if (!g_key_made && pthread_key_create(&g_key, thread_ends) != 0) return nullptr;
    g_key_made = true;
    cache = g_spare;
    if (cache != nullptr) {
      g_spare = cache->next;
    } else {
      void* storage = take_lines(sizeof(ThreadCache));
      if (storage == nullptr) return nullptr;
      cache = new (storage) ThreadCache();
    }
    cache->flush_seen = g_flushes.load(std::memory_order_relaxed);
    push(g_caches, cache);
  }
  t_thread_cache = cache;
  // Without its destructor the cache could never be retired. If the program has many keys, the C
  // library may call malloc here, which finds the cache in place.
  if (pthread_setspecific(g_key, cache) != 0) {
    t_thread_cache = &g_ended;
    cache->flush();
    const std::lock_guard guard(g_lock);
    retire(*cache);
    return nullptr;
  }
  return cache;
}

Magazine* ThreadCache::magazine(Heap& heap, unsigned size_class) {
  const unsigned number = heap.number();
  if (number >= k_most_heaps) return nullptr;
  HeapCache* of_heap = heaps[number];
  if (of_heap->magazines[size_class].capacity() != 0) [[likely]]
    return &of_heap->magazines[size_class];

  const std::lock_guard guard(g_lock);
  if (of_heap == &g_no_heap_cache) {
    of_heap = g_spare_heaps;
    if (of_heap != nullptr) {
      g_spare_heaps = of_heap->next_spare;
    } else {
      void* storage = take_lines(sizeof(HeapCache));
      if (storage == nullptr) return nullptr;
      of_heap = new (storage) HeapCache();
    }
    of_heap->heap = &heap;
    heaps[number] = of_heap;
  }
  Magazine& magazine = of_heap->magazines[size_class];
  const unsigned capacity = magazine_capacity(size_class);
  if (magazine.begin == nullptr) {
    void* storage = take_lines(capacity * sizeof(FreeBlock));
    if (storage == nullptr) return nullptr;
    FreeBlock* slots = new (storage) FreeBlock[capacity];
    magazine.begin = magazine.top = slots;
    magazine.end = slots + capacity;
  }
  return &magazine;
}

void ThreadCache::flush() {
  for (HeapCache* of_heap : heaps) {
    if (of_heap == &g_no_heap_cache) continue;
    for (unsigned c = 0; c < k_size_classes; ++c) {
      Magazine& magazine = of_heap->magazines[c];
      if (const unsigned count = magazine.take_all()) of_heap->heap->put(c, magazine.begin, count);
    }
  }
}

void ThreadCache::look_after(std::uint64_t decay) {
  const std::uint32_t flushes = g_flushes.load(std::memory_order_relaxed);
  if (flushes != flush_seen) {
    flush_seen = flushes;
    flush();
    return;
  }
  const std::uint64_t now = coarse_nanoseconds();
  if (now < next_look) return;
  next_look = now + std::max<std::uint64_t>(decay / 2, 10'000'000);
  for (HeapCache* of_heap : heaps) {
    if (of_heap == &g_no_heap_cache) continue;
    for (unsigned c = 0; c < k_size_classes; ++c) {
      Magazine& magazine = of_heap->magazines[c];
      if (!magazine.used && !magazine.is_empty()) {
        const unsigned count = magazine.take_all();
        of_heap->heap->put(c, magazine.begin, count);
      }
      magazine.used = false;
    }
  }
}

namespace thread_caches {

void flush_all_later() {
  g_flushes.fetch_add(1, std::memory_order_relaxed);
}

std::uint32_t kept(const Heap& heap, unsigned size_class) {
  std::uint32_t sum = 0;
  const std::lock_guard guard(g_lock);
  for (const ThreadCache* cache = g_caches; cache != nullptr; cache = cache->next)
    sum += cache->heaps[heap.number()]->magazines[size_class].count();
  return sum;
}

unsigned register_heap(Heap& heap) {
  const std::lock_guard guard(g_lock);
  for (unsigned number = 0; number < k_most_heaps; ++number)
    if (g_heaps[number] == nullptr) {
      g_heaps[number] = &heap;
      return number;
    }
  return k_most_heaps;
}

void forget_heap(Heap& heap) {
  const unsigned number = heap.number();
  if (number >= k_most_heaps) return;
  const std::lock_guard guard(g_lock);
  g_heaps[number] = nullptr;
  for (ThreadCache* list : {g_caches, g_spare})
    for (ThreadCache* cache = list; cache != nullptr; cache = cache->next) {
      HeapCache* of_heap = cache->heaps[number];
      if (of_heap == &g_no_heap_cache) continue;
      cache->heaps[number] = &g_no_heap_cache;
      for (Route& route : cache->routes)
        if (route.cache == of_heap) route = {};
      for (Magazine& magazine : of_heap->magazines)
        magazine.take_all();
      of_heap->next_spare = g_spare_heaps;
      g_spare_heaps = of_heap;
    }
}

void lock() {
  g_lock.lock();
}

void unlock() {
  g_lock.unlock();
}

// Another thread may have been anywhere in its fast path: a block that it was just taking or
// freeing is at worst never used again. Its magazines are trusted only as far as the spans agree.
void forget_others() {
  for (ThreadCache* cache = g_caches; cache != nullptr;) {
    ThreadCache* next = cache->next;
    if (cache != t_thread_cache) {
      for (HeapCache* of_heap : cache->heaps) {
        if (of_heap == &g_no_heap_cache) continue;
        for (unsigned c = 0; c < k_size_classes; ++c) {
          Magazine& magazine = of_heap->magazines[c];
          if (const unsigned count = magazine.take_all())
            of_heap->heap->put(c, magazine.begin, count);
        }
      }
      retire(*cache);
    }
    cache = next;
  }
}

} // namespace thread_caches
} // namespace omptier
