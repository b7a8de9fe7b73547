// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See placed_small.hpp. What is known of calls only grows, under one lock.
#include "preload/placed_small.hpp"

#include "preload/blocks.hpp"
#include "preload/next_malloc.hpp"

#include <pthread.h>

namespace omptier::preload::placed_small {

constinit std::atomic<const omptier_malloc*> g_table{nullptr};
constinit Others g_others;

namespace {

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
constinit SmallCalls g_calls;
constinit Site g_nobody;
constinit Site g_sites[k_most_sites];
unsigned g_site_count = 0;
// The table's, at hand.
constinit std::atomic<decltype(omptier_malloc::allocate_small_quickly)> g_allocate_quickly{nullptr};
constinit std::atomic<decltype(omptier_malloc::release_small_quickly)> g_release_quickly{nullptr};

// Under the lock. Null: there are too many.
Site* site_with(const omptier_small_call& decided) {
  if (decided.handle == 0) return &g_nobody;
  for (unsigned i = 0; i < g_site_count; ++i)
    if (g_sites[i].handle == decided.handle) return &g_sites[i];
  if (g_site_count == k_most_sites) return nullptr;
  Site& site = g_sites[g_site_count++];
  site.handle = decided.handle;
  site.rest = decided.rest;
  site.share = decided.share;
  site.least = decided.least;
  return &site;
}

// two: key of the call's two innermost words, or 0.
__attribute__((noinline)) const Site* decide(Call call, std::uint64_t two) {
  if (Busy::now()) return nullptr;
  const KeepErrno keep;
  const Busy busy;
  omptier_small_call decided;
  g_table.load(std::memory_order_relaxed)->small_call(call.code, &decided);
  if (decided.never != 0) return g_others.add(reinterpret_cast<std::uint64_t>(call.code)), nullptr;
  const std::uint64_t* code = decided.words.code;
  if (decided.never_two != 0 && two == SmallCalls::key_of(code[0], code[1]))
    return g_others.add(two), nullptr;
  ::pthread_mutex_lock(&g_lock);
  Site* site = site_with(decided);
  if (decided.words.count != 0 && site != nullptr) g_calls.add(decided.words, *site);
  ::pthread_mutex_unlock(&g_lock);
  return site;
}

// The thread's magazine is empty, or this is the site's first block here.
void* allocate_slowly(std::size_t bytes, std::size_t alignment, std::uintptr_t handle,
                      const void* caller) {
  void* block = nullptr;
  if (!Busy::now()) {
    const KeepErrno keep;
    const Busy busy;
    std::uintptr_t bounds[2] = {0, 0};
    block = g_table.load(std::memory_order_relaxed)
                ->allocate_small(bytes, alignment, handle, caller, bounds);
    if (block != nullptr) cover(reinterpret_cast<void*>(bounds[0]), bounds[1] - bounds[0]);
  }
  if (block != nullptr) return block;
  return alignment > 16 ? g_next.memalign(alignment, bytes) : g_next.malloc(bytes);
}

} // namespace

void start(const omptier_malloc* table) {
  g_allocate_quickly.store(table->allocate_small_quickly, std::memory_order_relaxed);
  g_release_quickly.store(table->release_small_quickly, std::memory_order_relaxed);
  g_table.store(table, std::memory_order_relaxed);
}

void before_fork() {
  ::pthread_mutex_lock(&g_lock);
}
void after_fork() {
  ::pthread_mutex_unlock(&g_lock);
}

namespace {

__attribute__((noinline)) const Site* site_of_unknown(std::size_t bytes, Call call,
                                                      std::uint64_t two) {
  if (two != 0 && g_others.hold(two)) return nullptr;
  const Site* site = decide(call, two);
  return site != nullptr && bytes >= site->least ? site : nullptr;
}

// Apart, so that the way of a known call needs no stack frame.
__attribute__((noinline)) void* allocate_by_unknown(std::size_t bytes, Call call,
                                                    std::uint64_t two) {
  const Site* site = site_of_unknown(bytes, call, two);
  return site != nullptr ? allocate(*site, bytes, 0, call.code) : g_next.malloc(bytes);
}

} // namespace

const Site* site_of(std::size_t bytes, Call call) {
  std::uint64_t two = 0;
  const auto* site = static_cast<const Site*>(g_calls.site_of(call, two));
  if (site == nullptr) return site_of_unknown(bytes, call, two);
  return bytes >= site->least ? site : nullptr;
}

void* allocate_or_next(std::size_t bytes, Call call) {
  std::uint64_t two = 0;
  const auto* site = static_cast<const Site*>(g_calls.site_of(call, two));
  if (site == nullptr) [[unlikely]]
    return allocate_by_unknown(bytes, call, two);
  if (bytes < site->least) return g_next.malloc(bytes);
  return allocate(*site, bytes, 0, call.code);
}

// Multiples of the golden ratio are evenly distributed, also those of every second call. Each
// thread begins elsewhere, as some make one block only.
static std::uintptr_t handle_in_turn(const Site& site) {
  __attribute__((tls_model("initial-exec"))) static thread_local constinit std::uint32_t turn = 0;
  static constinit std::atomic<std::uint32_t> threads{0};
  constexpr std::uint32_t k_ratio = 0x9e3779b1;
  if (turn == 0) turn = threads.fetch_add(1, std::memory_order_relaxed) * k_ratio;
  return ++turn * k_ratio < site.share ? site.rest : site.handle;
}

void* allocate(const Site& site, std::size_t bytes, std::size_t alignment, const void* caller) {
  const std::uintptr_t handle = site.share == 0 ? site.handle : handle_in_turn(site);
  return g_allocate_quickly.load(std::memory_order_relaxed)(bytes, alignment, handle, caller,
                                                            allocate_slowly);
}

void release(void* block) {
  if (Busy::now()) return give_back(block);
  g_release_quickly.load(std::memory_order_relaxed)(block, give_back);
}

} // namespace omptier::preload::placed_small
