// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of allocators. Its address space is taken at the first use and backed as far as entries
// are used.
#include "allocators/allocator_table.hpp"

#include "base/os.hpp"

#include <new>
#include <sys/mman.h>

namespace omptier {
namespace {

// Predefined handles in the order of their numbers in the table, from 1.
constexpr OmpValue k_predefined[] = {2, 3, 4, 5, 500, 501, 502, 503, 504};

} // namespace

Allocator* AllocatorTable::table() {
  Allocator* entries = table_.load(std::memory_order_acquire);
  if (entries != nullptr) return entries;
  const std::lock_guard guard(lock_);
  if ((entries = table_.load(std::memory_order_relaxed)) != nullptr) return entries;
  void* at = os().map(nullptr, k_entries * sizeof(Allocator), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  entries = static_cast<Allocator*>(at);
  std::uint32_t number = 0;
  for (const OmpValue handle : k_predefined) {
    Allocator* entry = new (&entries[++number]) Allocator();
    entry->number = number;
    entry->handle = handle;
    entry->space = *space_of_predefined(handle);
    entry->predefined = true;
    entry->standard_only = handle < 500;
    entry->live.store(true, std::memory_order_relaxed);
  }
  table_.store(entries, std::memory_order_release);
  return entries;
}

Allocator* AllocatorTable::predefined(OmpValue handle) {
  Allocator* entries = table();
  if (entries == nullptr) return nullptr;
  std::uint32_t number = 0;
  for (const OmpValue known : k_predefined) {
    ++number;
    if (known == handle) return &entries[number];
  }
  return nullptr;
}

Allocator* AllocatorTable::find(OmpValue handle) {
  if (handle <= 504) {
    if (handle < 2 || (handle > 5 && handle < 500)) return nullptr;
    return predefined(handle);
  }
  Allocator* entries = table_.load(std::memory_order_acquire);
  const auto offset = handle - reinterpret_cast<OmpValue>(entries);
  if (entries == nullptr || offset >= k_entries * sizeof(Allocator) ||
      offset % sizeof(Allocator) != 0)
    return nullptr;
  Allocator* entry = &entries[offset / sizeof(Allocator)];
  return entry->live.load(std::memory_order_acquire) ? entry : nullptr;
}

Allocator* AllocatorTable::by_number(std::uint32_t number) {
  Allocator* entries = table_.load(std::memory_order_acquire);
  return number != k_no_allocator && entries != nullptr ? &entries[number] : nullptr;
}

Allocator* AllocatorTable::make(Space space, const TraitSet& traits, bool standard_only) {
  Allocator* entries = table();
  if (entries == nullptr) return nullptr;
  // Whole under the lock: recycle, late for the entry's last life, must not see it half made.
  const std::lock_guard guard(lock_);
  Allocator* entry = nullptr;
  std::uint32_t number = 0;
  if (free_ != nullptr) {
    entry = free_;
    free_ = entry->next_free;
    number = entry->number;
  } else if (used_ < k_entries) {
    number = used_++;
    entry = &entries[number];
  }
  if (entry == nullptr) return nullptr;
  new (entry) Allocator();
  entry->number = number;
  entry->handle = reinterpret_cast<OmpValue>(entry);
  entry->space = space;
  entry->traits = traits;
  entry->standard_only = standard_only;
  entry->live.store(true, std::memory_order_release);
  return entry;
}

// Exactly one caller gets to recycle: whoever finds the entry dead and without blocks under the
// lock.
void AllocatorTable::recycle(Allocator& allocator) {
  const std::lock_guard guard(lock_);
  if (allocator.live.load() || allocator.live_blocks.load() != 0 || allocator.handle == 0) return;
  allocator.handle = 0;
  allocator.next_free = free_;
  free_ = &allocator;
}

bool AllocatorTable::destroy(OmpValue handle) {
  Allocator* allocator = find(handle);
  if (allocator == nullptr) return false;
  if (allocator->predefined) return true;
  if (allocator->live.exchange(false)) recycle(*allocator);
  return true;
}

void AllocatorTable::block_gone(Allocator& allocator) {
  const bool last = allocator.of_one_block;
  if (allocator.live_blocks.fetch_sub(1) != 1) return;
  if (last) allocator.live.store(false);
  if (!allocator.live.load()) recycle(allocator);
}

} // namespace omptier
