// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counters in an open-addressed table; a scope keeps its counter until its allocator ends.
#include "allocators/pool.hpp"

#include "base/page_arena.hpp"

#include <new>

namespace omptier {

Pool::Slot* Pool::slots() {
  Slot* ready = slots_.load(std::memory_order_acquire);
  if (ready != nullptr) return ready;
  auto* fresh = static_cast<Slot*>(map_pages(k_slots * sizeof(Slot)));
  if (fresh == nullptr || slots_.compare_exchange_strong(ready, fresh, std::memory_order_acq_rel))
    return fresh;
  unmap_pages(fresh, k_slots * sizeof(Slot));
  return ready;
}

void Pool::reuse_page(void* page) {
  auto* slots = static_cast<Slot*>(page);
  for (std::size_t i = 0; slots != nullptr && i < k_slots; ++i)
    new (&slots[i]) Slot();
  slots_.store(slots, std::memory_order_release);
}

// Created at the scope's first use; the shared one when the table is full or refused.
std::atomic<std::uint64_t>* Pool::counter(std::uintptr_t scope) {
  Slot* table = scope != 0 ? slots() : nullptr;
  if (table == nullptr) return &shared_;
  const std::size_t first = (scope >> 6) * 0x9e3779b97f4a7c15u >> 40 & (k_slots - 1);
  for (std::size_t step = 0; step < k_slots; ++step) {
    Slot& slot = table[(first + step) & (k_slots - 1)];
    std::uintptr_t owner = slot.scope.load(std::memory_order_relaxed);
    if (owner == scope) return &slot.used;
    if (owner == 0 && (slot.scope.compare_exchange_strong(owner, scope) || owner == scope))
      return &slot.used;
  }
  return &table[first].used;
}

bool Pool::charge(std::uintptr_t scope, std::uint64_t bytes, std::uint64_t limit) {
  if (bytes > limit) return false;
  std::atomic<std::uint64_t>& used = *counter(scope);
  std::uint64_t before = used.load(std::memory_order_relaxed);
  do {
    if (before > limit - bytes) return false;
  } while (!used.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  return true;
}

void Pool::give_back(std::uintptr_t scope, std::uint64_t bytes) {
  std::atomic<std::uint64_t>* from = counter(scope);
  while (bytes != 0) {
    std::uint64_t before = from->load(std::memory_order_relaxed);
    std::uint64_t taken = 0;
    do
      taken = before < bytes ? before : bytes;
    while (!from->compare_exchange_weak(before, before - taken, std::memory_order_relaxed));
    bytes -= taken;
    if (bytes == 0) return;
    // The block is freed outside the scope that allocated it.
    std::atomic<std::uint64_t>* most = &shared_;
    if (Slot* table = slots_.load(std::memory_order_acquire))
      for (std::size_t i = 0; i < k_slots; ++i)
        if (table[i].used.load(std::memory_order_relaxed) > most->load(std::memory_order_relaxed))
          most = &table[i].used;
    if (most->load(std::memory_order_relaxed) == 0) return;
    from = most;
  }
}

std::uint64_t Pool::used(std::uintptr_t scope) const {
  const Slot* table = scope != 0 ? slots_.load(std::memory_order_acquire) : nullptr;
  if (table == nullptr) return shared_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < k_slots; ++i)
    if (table[i].scope.load(std::memory_order_relaxed) == scope)
      return table[i].used.load(std::memory_order_relaxed);
  return 0;
}

} // namespace omptier
