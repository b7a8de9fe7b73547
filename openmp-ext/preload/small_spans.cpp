// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See small_spans.hpp. A block's state is written by its present holder: the thread that allocates
// or frees it, the lock's owner while it is in its span.
#include "preload/small_spans.hpp"

#include "base/relaxed.hpp"
#include "base/rounding.hpp"
#include "preload/blocks.hpp"

#include <algorithm>
#include <new>
#include <pthread.h>
#include <sys/mman.h>

namespace omptier::preload {

// bytes: see class_of. A room of whole KiB would put a site's blocks into the same sets of the cache.
constexpr std::size_t k_fine = 1024, k_middle = 4096 + 64;
constexpr unsigned k_classes =
    k_fine / 16 + 1 + (k_middle - k_fine) / 64 + (small_spans::k_below - k_middle) / 256;

struct SpanSite : SmallSite {
  std::uint32_t number = k_no_site;                // the recorder's
  std::atomic<std::uint16_t> bins[k_classes] = {}; // by class of size
};

namespace small_spans {

constinit SpanPool g_pool;

namespace {

using Site = SpanSite;

constexpr unsigned k_largest_magazine = 64, k_magazine_bytes = 8192, k_least_magazine = 4;
constexpr unsigned k_waits = 63; // see Magazine
constexpr std::uint16_t k_no_bin = 0; // bins are numbered from 1

// A bin for every 16 bytes up to 1 KiB, for every 64 up to a little over 4 KiB, then for every 256.
// Class 0 is for 0 bytes.
constexpr unsigned k_fine_classes = k_fine / 16 + 1;
constexpr unsigned k_middle_classes = k_fine_classes + (k_middle - k_fine) / 64; // and the fine
[[gnu::always_inline]] constexpr unsigned class_of(std::size_t bytes) {
  if (bytes <= k_fine) return static_cast<unsigned>((bytes + 15) / 16);
  return static_cast<unsigned>(bytes <= k_middle ? k_fine_classes + (bytes - 1 - k_fine) / 64
                                                 : k_middle_classes + (bytes - 1 - k_middle) / 256);
}
constexpr std::uint32_t room_of(unsigned size_class) {
  if (size_class == 0) return 16;
  if (size_class < k_fine_classes) return size_class * 16;
  return static_cast<std::uint32_t>(size_class < k_middle_classes
                                        ? k_fine + (size_class + 1 - k_fine_classes) * 64
                                        : k_middle + (size_class + 1 - k_middle_classes) * 256);
}
static_assert(room_of(class_of(1)) == 16 && room_of(class_of(216)) == 224 &&
              room_of(class_of(1024)) == 1024 && room_of(class_of(1025)) == 1088 &&
              room_of(class_of(4097)) == 4160 && room_of(class_of(4161)) == 4416 &&
              room_of(class_of(16 << 10)) == k_below && class_of(k_below) == k_classes - 1);

// Written by its thread, read by the recorder's.
class Count {
public:
  void add(std::uint64_t more) {
    value_.store(value_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  std::uint64_t take() { return value_.exchange(0, std::memory_order_relaxed); }
  std::uint64_t read() const { return value_.load(std::memory_order_relaxed); }

private:
  std::atomic<std::uint64_t> value_{0};
};

struct Counts {
  Count objects, bytes, freed; // bytes as asked for
  std::atomic<std::uint32_t> largest{0};
};

struct Magazine {
  FreeBlock* top = nullptr; // behind the last
  FreeBlock *begin = nullptr, *end = nullptr;
  unsigned batch = 0;
  unsigned waits = 0; // blocks until the next try, after none was available
  Counts counts;
};

struct Cache { // of a thread
  std::atomic<Magazine*> of_bin[k_most_bins] = {};
  Cache *next = nullptr, *previous = nullptr;
};

struct Bin : SpanPool::Bin {
  Counts counts; // of blocks that no magazine counts
};

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

// Before a thread's first block and after its end; these caches never get a magazine.
constinit Cache g_not_begun, g_ended;
__attribute__((tls_model("initial-exec"))) thread_local constinit Cache* t_cache = &g_not_begun;

// The lock. A signal handler that interrupts the lock's owner gets blocks of the program's malloc,
// because it finds no magazines and Busy keeps it from the lock; its frees wait.
class Guard {
public:
  Guard() {
    t_cache = &g_ended;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    ::pthread_mutex_lock(&g_lock);
  }
  ~Guard() {
    ::pthread_mutex_unlock(&g_lock);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    t_cache = cache_;
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

private:
  const Busy busy_;
  const KeepErrno errno_;
  Cache* const cache_ = t_cache;
};

constinit SmallCalls g_calls;
constinit Site g_sites[k_most_sites];
constinit Bin g_bins[k_most_bins];
unsigned g_site_count = 0;
constinit Relaxed<unsigned> g_bin_count = 1; // changes under the lock
unsigned g_first_site = 0, g_first_bin = 1; // those before them are the parent's
Cache* g_caches = nullptr;
Cache* g_spare_caches = nullptr;
pthread_key_t g_key;
constinit std::atomic<void*> g_freed_later{nullptr}; // linked by their first words

// Storage for caches and magazines, never given back. Under the lock.
void* take_storage(std::size_t bytes) {
  static char* next = nullptr;
  static std::size_t left = 0;
  bytes = round_up(bytes, 64); // threads do not share lines
  if (bytes > left) {
    constexpr std::size_t k_piece = std::size_t{64} << 10;
    next = static_cast<char*>(map_directly(k_piece, PROT_READ | PROT_WRITE));
    left = next != nullptr ? k_piece : 0;
    if (next == nullptr) return nullptr;
  }
  char* storage = next;
  next += bytes;
  left -= bytes;
  return storage;
}

void move_counts(Counts& from, Counts& to) {
  to.objects.add(from.objects.take());
  to.bytes.add(from.bytes.take());
  to.freed.add(from.freed.take());
  to.largest = std::max(to.largest.load(), from.largest.exchange(0));
}

void put_back(std::uint16_t bin, Magazine& magazine, unsigned count) {
  for (; count > 0; --count)
    g_pool.put(g_bins[bin], *--magazine.top);
}

void at_thread_end(void* argument) {
  auto* cache = static_cast<Cache*>(argument);
  t_cache = &g_ended;
  const Guard guard;
  for (unsigned bin = 1; bin < g_bin_count; ++bin) {
    Magazine* magazine = cache->of_bin[bin].load(std::memory_order_relaxed);
    if (magazine == nullptr) continue;
    put_back(static_cast<std::uint16_t>(bin), *magazine,
             static_cast<unsigned>(magazine->top - magazine->begin));
    move_counts(magazine->counts, g_bins[bin].counts);
  }
  (cache->previous != nullptr ? cache->previous->next : g_caches) = cache->next;
  if (cache->next != nullptr) cache->next->previous = cache->previous;
  cache->next = g_spare_caches;
  g_spare_caches = cache;
}

// Null: the thread has no cache, or its cache has ended.
Cache* make_cache() {
  if (t_cache != &g_not_begun) return t_cache != &g_ended ? t_cache : nullptr;
  Cache* cache = nullptr;
  {
    const Guard guard;
    cache = g_spare_caches;
    if (cache != nullptr) {
      g_spare_caches = cache->next;
    } else {
      void* storage = take_storage(sizeof(Cache));
      if (storage == nullptr) return nullptr;
      cache = new (storage) Cache;
    }
    cache->previous = nullptr;
    cache->next = g_caches;
    if (g_caches != nullptr) g_caches->previous = cache;
    g_caches = cache;
  }
  t_cache = cache;
  const Busy busy; // the C library may allocate for the key
  if (::pthread_setspecific(g_key, cache) == 0) return cache;
  at_thread_end(cache);
  return nullptr;
}

Magazine* make_magazine(Cache& cache, std::uint16_t bin) {
  const unsigned capacity =
      std::clamp(k_magazine_bytes / g_bins[bin].room, k_least_magazine, k_largest_magazine);
  const Guard guard;
  void* storage = take_storage(sizeof(Magazine) + capacity * sizeof(FreeBlock));
  if (storage == nullptr) return nullptr;
  auto* magazine = new (storage) Magazine;
  magazine->begin = magazine->top = reinterpret_cast<FreeBlock*>(magazine + 1);
  magazine->end = magazine->begin + capacity;
  cache.of_bin[bin].store(magazine, std::memory_order_release);
  return magazine;
}

// Under the lock.
void free_into_span(void* address) {
  std::uint16_t bin = k_no_bin;
  BlockState* state = g_pool.state_at(address, bin);
  g_bins[bin].counts.freed.add(1);
  g_pool.put(g_bins[bin], {static_cast<char*>(address), state});
}

void free_what_was_freed() {
  if (g_freed_later.load(std::memory_order_relaxed) == nullptr) return;
  void* block = g_freed_later.exchange(nullptr, std::memory_order_acquire);
  while (block != nullptr) {
    void* next = *static_cast<void**>(block);
    free_into_span(block);
    block = next;
  }
}

void free_later(void* block) {
  void* head = g_freed_later.load(std::memory_order_relaxed);
  do
    *static_cast<void**>(block) = head;
  while (!g_freed_later.compare_exchange_weak(head, block, std::memory_order_release,
                                              std::memory_order_relaxed));
}

// Each bin may leave a page idle, so the number of bins depends on the size of all spans.
bool may_make_bin() {
  constexpr std::size_t k_at_once = 64, k_bytes_a_bin = std::size_t{128} << 10;
  return g_bin_count < k_most_bins &&
         g_bin_count - g_first_bin <= k_at_once + g_pool.touched() / k_bytes_a_bin;
}

// Made at the first block of a site's size.
std::uint16_t make_bin(Site& site, unsigned size_class) {
  if (!may_make_bin()) return k_no_bin; // most often: without the lock
  const Guard guard;
  if (const std::uint16_t made = site.bins[size_class].load(std::memory_order_relaxed)) return made;
  if (!may_make_bin()) return k_no_bin;
  const auto number = static_cast<std::uint16_t>(g_bin_count);
  g_bin_count = number + 1u;
  Bin& bin = g_bins[number];
  bin.room = room_of(size_class);
  bin.site = site.number;
  bin.number = number;
  site.bins[size_class].store(number, std::memory_order_release);
  return number;
}

// Fills the thread's empty magazine of the bin, or makes it. Null: no room, or no block at present.
__attribute__((noinline)) Magazine* refill(std::uint16_t bin) {
  if (Busy::now()) return nullptr; // it may be a fork, which holds the lock
  Cache* cache = make_cache();
  if (cache == nullptr) return nullptr;
  Magazine* magazine = cache->of_bin[bin].load(std::memory_order_relaxed);
  if (magazine == nullptr) magazine = make_magazine(*cache, bin);
  if (magazine == nullptr) return nullptr;
  if (magazine->waits != 0) return --magazine->waits, nullptr;
  const auto capacity = static_cast<unsigned>(magazine->end - magazine->begin);
  magazine->batch = std::clamp(magazine->batch * 2, k_least_magazine / 2, capacity / 2);
  const Guard guard;
  free_what_was_freed();
  const unsigned got = g_pool.take(g_bins[bin], magazine->begin, magazine->batch);
  std::reverse(magazine->begin, magazine->begin + got); // lowest address first
  magazine->top = magazine->begin + got;
  if (got != 0) return magazine;
  magazine->waits = k_waits;
  return nullptr;
}

__attribute__((noinline)) std::uint16_t find_bin(Site& site, unsigned size_class) {
  return Busy::now() ? k_no_bin : make_bin(site, size_class);
}

// A live block for which the thread has no magazine, or no room in it.
__attribute__((noinline)) void release_slowly(std::uint16_t bin, const FreeBlock& block) {
  block.state->store(k_block_kept, std::memory_order_relaxed);
  if (Busy::now()) return free_later(block.begin);
  Cache* cache = make_cache();
  Magazine* magazine =
      cache != nullptr ? cache->of_bin[bin].load(std::memory_order_relaxed) : nullptr;
  if (cache != nullptr && magazine == nullptr) magazine = make_magazine(*cache, bin);
  const Guard guard;
  free_what_was_freed();
  if (magazine == nullptr) return free_into_span(block.begin);
  if (magazine->top == magazine->end) {
    const auto half = (magazine->end - magazine->begin) / 2;
    std::rotate(magazine->begin, magazine->begin + half, magazine->end); // the oldest go
    put_back(bin, *magazine, static_cast<unsigned>(half));
  }
  *magazine->top++ = block;
  magazine->counts.freed.add(1);
}

} // namespace

namespace {

// room: at least bytes.
[[gnu::always_inline]] inline void* block_of(Site& site, std::size_t bytes, std::size_t room) {
  const unsigned size_class = class_of(room);
  std::uint16_t bin = site.bins[size_class].load(std::memory_order_acquire);
  if (bin == k_no_bin) [[unlikely]] {
    bin = find_bin(site, size_class);
    if (bin == k_no_bin) return nullptr;
  }
  Magazine* magazine = t_cache->of_bin[bin].load(std::memory_order_relaxed);
  if (magazine == nullptr || magazine->top == magazine->begin) [[unlikely]] {
    magazine = refill(bin);
    if (magazine == nullptr) return nullptr;
  }
  const FreeBlock block = *--magazine->top;
  block.state->store(k_block_live, std::memory_order_relaxed);
  Counts& counts = magazine->counts;
  counts.objects.add(1);
  counts.bytes.add(bytes);
  if (bytes > counts.largest.load(std::memory_order_relaxed)) [[unlikely]]
    counts.largest.store(static_cast<std::uint32_t>(bytes), std::memory_order_relaxed);
  return block.begin;
}

} // namespace

void* allocate(std::size_t bytes, Call call, Otherwise otherwise) {
  if (auto* site = static_cast<Site*>(g_calls.site_of(call)))
    if (void* block = block_of(*site, bytes, bytes)) return block;
  return otherwise(bytes, call.code);
}

// A block is aligned as the largest power of two in its room; up to 4 KiB a bin has the very room.
void* allocate_aligned(std::size_t bytes, std::size_t alignment, Call call) {
  const std::size_t room = std::max(round_up(bytes, alignment), alignment);
  if (alignment > SpanPool::k_most_alignment || room >= k_below) return nullptr;
  if (room > k_middle && alignment > 64) return nullptr;
  auto* site = static_cast<Site*>(g_calls.site_of(call));
  return site != nullptr ? block_of(*site, bytes, room) : nullptr;
}

void release(void* address) {
  std::uint16_t bin = k_no_bin;
  BlockState* state = g_pool.state_at(address, bin);
  if (state == nullptr || state->load(std::memory_order_relaxed) != k_block_live) [[unlikely]]
    return;
  Magazine* magazine = t_cache->of_bin[bin].load(std::memory_order_relaxed);
  if (magazine == nullptr || magazine->top == magazine->end) [[unlikely]]
    return release_slowly(bin, {static_cast<char*>(address), state});
  state->store(k_block_kept, std::memory_order_relaxed);
  FreeBlock* top = magazine->top;
  top->begin = static_cast<char*>(address);
  top->state = state;
  magazine->top = top + 1;
  magazine->counts.freed.add(1);
}

std::size_t size_of(const void* block) {
  return g_pool.room_at(block);
}

namespace {

int serve(const omptier_call_words* words) {
  const Guard guard;
  if (!g_pool.has_begun()) {
    if (::pthread_key_create(&g_key, at_thread_end) != 0) return 0;
    if (!g_pool.begin()) {
      ::pthread_key_delete(g_key);
      return 0;
    }
  }
  unsigned site = g_first_site;
  while (site < g_site_count && g_sites[site].number != words->site)
    ++site;
  if (site == k_most_sites) return 0;
  g_sites[site].number = words->site;
  if (!g_calls.add(*words, g_sites[site])) return 0;
  g_site_count = std::max(g_site_count, site + 1);
  return 1;
}

int find(std::uint64_t address, std::uint64_t time, omptier_small_place* place) {
  if (!g_pool.holds(reinterpret_cast<const void*>(address))) return 0;
  const Guard guard;
  return g_pool.find(address, time, *place);
}

struct Sum {
  std::uint64_t objects = 0, bytes = 0, freed = 0, kept = 0;
  std::uint32_t largest = 0;

  // Freed blocks are read before allocated ones, so that never more are freed than allocated.
  void add_freed(const Counts& counts) { freed += counts.freed.read(); }
  void add_rest(const Counts& counts) {
    objects += counts.objects.read();
    bytes += counts.bytes.read();
    largest = std::max(largest, counts.largest.load(std::memory_order_relaxed));
  }
};

template <typename Visit> void for_each_magazine(std::uint16_t bin, Visit&& visit) {
  for (Cache* cache = g_caches; cache != nullptr; cache = cache->next)
    if (Magazine* magazine = cache->of_bin[bin].load(std::memory_order_acquire)) visit(*magazine);
}

// Under the lock. Live bytes are the live blocks at the mean size of all blocks of the bin; the
// error is less than the bin is wide.
void add_bin(std::uint16_t number, omptier_small_counts& counts) {
  Bin& bin = g_bins[number];
  Sum sum;
  sum.add_freed(bin.counts);
  for_each_magazine(number, [&](Magazine& magazine) { sum.add_freed(magazine.counts); });
  sum.add_rest(bin.counts);
  for_each_magazine(number, [&](Magazine& magazine) { sum.add_rest(magazine.counts); });
  if (sum.objects == 0) return;
  const std::uint64_t live = sum.objects - std::min(sum.freed, sum.objects);
  const std::uint64_t kept = bin.out - std::min(bin.out, live);
  const std::uint64_t peak = std::min(std::max(live, bin.most_out - std::min(bin.most_out, kept)),
                                      sum.objects);
  bin.most_out = bin.out;
  const double mean = double(sum.bytes) / double(sum.objects);
  counts.objects += sum.objects;
  counts.bytes += sum.bytes;
  counts.live += static_cast<std::uint64_t>(double(live) * mean);
  counts.peak += static_cast<std::uint64_t>(double(peak) * mean);
  counts.largest = std::max(counts.largest, sum.largest);
}

void visit_counts(void (*visit)(void* argument, const omptier_small_counts* counts),
                  void* argument) {
  for (unsigned number = g_first_site;; ++number) {
    omptier_small_counts counts{};
    {
      const Guard guard;
      if (number >= g_site_count) return;
      counts.site = g_sites[number].number;
      for (const std::atomic<std::uint16_t>& bin : g_sites[number].bins)
        if (bin.load(std::memory_order_relaxed) != k_no_bin)
          add_bin(bin.load(std::memory_order_relaxed), counts);
    }
    visit(argument, &counts);
  }
}

} // namespace

constexpr omptier_small_spans k_table = {serve, find, visit_counts};

void before_fork() {
  ::pthread_mutex_lock(&g_lock);
}

void after_fork_in_parent() {
  ::pthread_mutex_unlock(&g_lock);
}

// Blocks kept by other threads are lost to the child.
void after_fork_in_child() {
  if (g_site_count != g_first_site) g_calls.forget();
  g_first_site = g_site_count;
  g_first_bin = g_bin_count;
  g_pool.forget_sites();
  ::pthread_mutex_unlock(&g_lock);
}

const char* what_is_wrong() {
  const Guard guard;
  static SpanPool::Bin bins[k_most_bins];
  for (unsigned i = 1; i < g_bin_count; ++i) {
    bins[i] = static_cast<const SpanPool::Bin&>(g_bins[i]);
    std::uint64_t kept = 0, objects = g_bins[i].counts.objects.read(),
                  freed = g_bins[i].counts.freed.read();
    for_each_magazine(static_cast<std::uint16_t>(i), [&](Magazine& magazine) {
      kept += static_cast<std::uint64_t>(magazine.top - magazine.begin);
      objects += magazine.counts.objects.read();
      freed += magazine.counts.freed.read();
    });
    if (freed > objects) return "more blocks were freed than allocated";
    if (bins[i].out != objects - freed + kept)
      return "blocks are neither live, free, nor in a magazine";
  }
  return g_pool.what_is_wrong(bins + 1, g_bin_count - 1);
}

} // namespace small_spans
} // namespace omptier::preload
