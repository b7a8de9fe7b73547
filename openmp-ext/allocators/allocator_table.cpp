// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Address space is reserved at the first use; memory backs only entries in use.
#include "allocators/allocator_table.hpp"

#include "base/os.hpp"

#include <new>
#include <sys/mman.h>

namespace omptier {
namespace {

constexpr OmpValue k_predefined[] = {2, 3, 4, 5, 6, 7, 8, 500, 501, 502, 503, 504};

// omp_cgroup_mem_alloc, omp_pteam_mem_alloc and omp_thread_mem_alloc: the specification leaves
// their memory space open; we use the default one. 0 for all other allocators.
OmpValue access_of(OmpValue predefined) {
  return predefined == 6   ? value::cgroup
         : predefined == 7 ? value::pteam
         : predefined == 8 ? value::thread
                           : 0;
}

} // namespace

Allocator* AllocatorTable::make_table() {
  const std::lock_guard guard(lock_);
  Allocator* entries = table_.load(std::memory_order_relaxed);
  if (entries != nullptr) return entries;
  void* at = os().map(nullptr, k_entries * sizeof(Allocator), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  entries = static_cast<Allocator*>(at);
  static_assert(number_of_predefined(504) < k_first_dynamic);
  for (const OmpValue handle : k_predefined) {
    const std::uint32_t number = number_of_predefined(handle);
    Allocator* entry = new (&entries[number]) Allocator();
    entry->number = number;
    entry->handle = handle;
    entry->space = space_of_predefined(handle).value_or(Space::standard_default);
    entry->traits.access = access_of(handle);
    entry->predefined = true;
    entry->standard_only = handle < 500;
    entry->life.store(++lives_, std::memory_order_relaxed);
    entry->live.store(true, std::memory_order_relaxed);
  }
  table_.store(entries, std::memory_order_release);
  return entries;
}

// Finds destroyed entries without live blocks. The caller holds the lock.
void AllocatorTable::collect() {
  if (mark_used_ == nullptr) return;
  Marks used;
  mark_used_(used);
  Allocator* entries = table_.load(std::memory_order_relaxed);
  for (std::uint32_t number = k_first_dynamic; number < used_; ++number) {
    Allocator& entry = entries[number];
    if (entry.live.load() || entry.listed || used.has(number)) continue;
    entry.listed = true;
    entry.next_free = free_;
    free_ = &entry;
  }
}

Allocator* AllocatorTable::make(Space space, const TraitSet& traits, bool standard_only) {
  Allocator* entries = table();
  if (entries == nullptr) return nullptr;
  const std::lock_guard guard(lock_);
  if (free_ == nullptr && used_ == k_entries) collect();
  Allocator* entry = free_;
  if (entry != nullptr)
    free_ = entry->next_free;
  else if (used_ < k_entries)
    entry = &entries[used_++];
  else
    return nullptr;
  const auto number = static_cast<std::uint32_t>(entry - entries);
  void* counters = entry->pool.take_page();
  new (entry) Allocator();
  entry->pool.reuse_page(counters);
  entry->number = number;
  entry->handle = reinterpret_cast<OmpValue>(entry);
  entry->space = space;
  entry->traits = traits;
  entry->standard_only = standard_only;
  entry->life.store(++lives_, std::memory_order_relaxed);
  entry->live.store(true, std::memory_order_release);
  return entry;
}

void AllocatorTable::forget_routes(Allocator& allocator) {
  const std::lock_guard guard(lock_);
  if (allocator.live.load()) allocator.life.store(++lives_, std::memory_order_release);
}

void AllocatorTable::forget_all_routes() {
  Allocator* entries = table();
  if (entries == nullptr) return;
  const std::lock_guard guard(lock_);
  for (std::uint32_t number = 1; number < used_; ++number)
    if (entries[number].live.load())
      entries[number].life.store(++lives_, std::memory_order_release);
}

bool AllocatorTable::destroy(OmpValue handle) {
  Allocator* allocator = find(handle);
  if (allocator == nullptr) return made_here(handle);
  if (allocator->predefined) return true;
  if (!allocator->live.exchange(false)) return true;
  allocator->life.store(0, std::memory_order_relaxed);
  if (allocator->has_allocated.load(std::memory_order_relaxed)) return true;
  const std::lock_guard guard(lock_);
  allocator->listed = true;
  allocator->next_free = free_;
  free_ = allocator;
  return true;
}

} // namespace omptier
