// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls into libomptier.so are always made with Busy set, so its own allocations (hwloc while the
// platform is discovered, the reader of plans) come back to malloc and go to the program's.
#include "preload/blocks.hpp"

#include "preload/next_malloc.hpp"
#include "preload/placed_small.hpp"
#include "preload/recording.hpp"

#include <cerrno>
#include <cstring>

namespace omptier::preload {

constinit Bounds g_bounds;
constinit std::atomic<std::size_t> g_least_bytes{k_least_bytes};
constinit std::atomic<std::size_t> g_least_header{0};
__attribute__((tls_model("initial-exec"))) thread_local unsigned Busy::depth_ = 0;

namespace {

constinit std::atomic<const omptier_malloc*> g_table{nullptr};
constinit std::atomic<bool> g_sizes_known{false};

// Blocks freed by a thread that was busy, linked through their first word.
constinit std::atomic<void*> g_freed_later{nullptr};

// The table if it is there, wants such calls and did not make this one itself.
const omptier_malloc* table_for(std::uint32_t want) {
  const omptier_malloc* table = g_table.load(std::memory_order_acquire);
  return table != nullptr && (table->wants & want) != 0 && !Busy::now() ? table : nullptr;
}

void free_what_was_freed(const omptier_malloc* table) {
  if (g_freed_later.load(std::memory_order_relaxed) == nullptr) return;
  void* block = g_freed_later.exchange(nullptr, std::memory_order_acquire);
  while (block != nullptr) {
    void* next = *static_cast<void**>(block);
    table->release(block);
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

void report_freed(void* block) {
  record_free(block);
  if (const omptier_malloc* table = table_for(OMPTIER_MALLOC_LISTS)) {
    const KeepErrno keep;
    const Busy busy;
    table->released(block);
  }
}

void* move_out(void* block, std::size_t old_bytes, std::size_t bytes) {
  void* fresh = g_next.malloc(bytes);
  if (fresh == nullptr) return nullptr;
  std::memcpy(fresh, block, old_bytes < bytes ? old_bytes : bytes);
  give_back(block);
  return fresh;
}

void* resize_ours(void* block, std::size_t old_bytes, std::size_t bytes, const void* caller) {
  if (bytes == 0) return give_back(block), nullptr;
  const omptier_malloc* table = table_for(OMPTIER_MALLOC_PLACES);
  if (bytes < k_least_bytes || table == nullptr) return move_out(block, old_bytes, bytes);
  void* result = nullptr;
  {
    const KeepErrno keep;
    const Busy busy;
    if (!table->reallocate(block, bytes, caller, &result)) result = nullptr;
  }
  if (result == nullptr) return move_out(block, old_bytes, bytes);
  cover(result, bytes);
  return result;
}

} // namespace

std::size_t size_of_ours(const void* block) {
  const omptier_malloc* table = g_table.load(std::memory_order_acquire);
  return table != nullptr && may_be_ours(block) ? table->size_of(block) : 0;
}

bool stays_in_place(void* block, std::size_t bytes) {
  const omptier_malloc* table = table_for(OMPTIER_MALLOC_PLACES);
  if (table == nullptr) return false;
  const KeepErrno keep;
  const Busy busy;
  return table->resize_in_place(block, bytes) != 0;
}

void cover(const void* block, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  std::uintptr_t low = g_bounds.low.load(std::memory_order_relaxed);
  while (begin < low &&
         !g_bounds.low.compare_exchange_weak(low, begin, std::memory_order_relaxed)) {
  }
  std::uintptr_t high = g_bounds.high.load(std::memory_order_relaxed);
  while (begin + bytes > high &&
         !g_bounds.high.compare_exchange_weak(high, begin + bytes, std::memory_order_relaxed)) {
  }
}

std::size_t next_size(void* block) {
  return g_sizes_known.load(std::memory_order_relaxed) ? g_next.malloc_usable_size(block) : 0;
}

void watch_everything() {
  g_sizes_known.store(next_malloc_knows_sizes(), std::memory_order_relaxed);
  g_least_bytes.store(0, std::memory_order_relaxed);
  cover(nullptr, ~std::size_t{0});
  // The flags add at most 7 to a size. Placed blocks have no such word.
  if (next_malloc_has_headers() && g_table.load(std::memory_order_acquire) == nullptr)
    g_least_header.store(k_least_recorded + 2 * sizeof(std::size_t), std::memory_order_relaxed);
}

static void start_placing_small(const omptier_malloc* table, bool recording) {
  const Busy busy;
  const std::size_t least = table->least();
  if (least >= k_least_bytes) return;
  if (recording) return table->small_blocks_stay("the program is recorded");
  if ((table->wants & OMPTIER_MALLOC_LISTS) != 0)
    return table->small_blocks_stay("its blocks are listed");
  if (!can_serve_small()) return table->small_blocks_stay("malloc is not the C library's");
  placed_small::start(table);
  g_least_bytes.store(least, std::memory_order_release);
}

void start_placing(const omptier_malloc* table, bool recording) {
  g_sizes_known.store(next_malloc_knows_sizes(), std::memory_order_relaxed);
  g_least_header.store(0, std::memory_order_relaxed); // our blocks have no such word
  take_blocks_by_handle();
  g_table.store(table, std::memory_order_release);
  start_placing_small(table, recording);
  // Blocks are listed, so every free must be checked.
  if ((table->wants & OMPTIER_MALLOC_LISTS) != 0) cover(nullptr, ~std::size_t{0});
}

void* place(std::size_t bytes, std::size_t alignment, bool zeroed, const void* caller) {
  const omptier_malloc* table = table_for(OMPTIER_MALLOC_PLACES);
  if (table == nullptr || bytes < k_least_bytes) return nullptr;
  const KeepErrno keep;
  const Busy busy;
  free_what_was_freed(table);
  void* block = nullptr;
  if (!table->allocate(bytes, alignment, zeroed ? 1 : 0, caller, &block)) return nullptr;
  cover(block, bytes);
  return block;
}

void* served(void* block, std::size_t bytes, const void* caller) {
  if (block == nullptr) return block;
  record_block(block, bytes, caller);
  if (bytes < k_least_bytes) return block;
  if (const omptier_malloc* table = table_for(OMPTIER_MALLOC_LISTS)) {
    const KeepErrno keep;
    const Busy busy;
    table->allocated(block, bytes, caller);
  }
  return block;
}

void* resize(void* block, std::size_t bytes, const void* caller) {
  if (block == nullptr) {
    void* fresh = place(bytes, 0, false, caller);
    return fresh != nullptr ? fresh : served(g_next.malloc(bytes), bytes, caller);
  }
  if (bytes < k_least_recorded && is_short(block)) {
    void* result = g_next.realloc(block, bytes);
    if (result != nullptr && !is_left_out()) record_block(result, bytes, caller);
    return result;
  }
  if (const std::size_t old_bytes = size_of_ours(block))
    return resize_ours(block, old_bytes, bytes, caller);
  if (is_early_block(block)) {
    void* fresh = g_next.malloc(bytes);
    const std::size_t left = early_bytes_from(block);
    if (fresh != nullptr) std::memcpy(fresh, block, left < bytes ? left : bytes);
    return fresh;
  }
  const std::size_t old_bytes = next_size(block);
  if (bytes >= k_least_bytes && old_bytes != 0)
    if (void* fresh = place(bytes, 0, false, caller)) {
      std::memcpy(fresh, block, old_bytes < bytes ? old_bytes : bytes);
      report_freed(block);
      g_next.free(block);
      return fresh;
    }
  report_freed(block);
  void* result = g_next.realloc(block, bytes);
  if (result == nullptr && bytes != 0 && old_bytes != 0)
    served(block, old_bytes, caller); // the old block is still there
  return served(result, bytes, caller);
}

void give_back(void* block) {
  if (is_early_block(block)) return;
  const omptier_malloc* table = g_table.load(std::memory_order_acquire);
  if (table != nullptr && !Busy::now()) {
    const KeepErrno keep;
    const Busy busy;
    if (table->release(block)) return free_what_was_freed(table);
    if ((table->wants & OMPTIER_MALLOC_LISTS) != 0) table->released(block);
  } else if (table != nullptr && size_of_ours(block) != 0) {
    return free_later(block);
  }
  record_free(block);
  g_next.free(block);
}

std::size_t usable_size(void* block) {
  const std::size_t bytes = size_of_ours(block);
  return bytes != 0 ? bytes : g_next.malloc_usable_size(block);
}

} // namespace omptier::preload
