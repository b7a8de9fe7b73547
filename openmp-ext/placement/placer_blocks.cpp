// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Look-up and changes in place of live blocks; checks of all invariants; locks during a fork.
#include "placement/placer.hpp"

#include <string>

namespace omptier {

BlockInfo Placer::info_of(const Extent& extent) {
  BlockInfo info;
  info.begin = extent.begin;
  info.bytes = extent.block_bytes;
  info.room = extent.committed;
  info.caller = extent.caller;
  info.space = extent.space;
  info.allocator = extent.allocator;
  info.large = true;
  info.required = extent.required;
  info.locked = extent.locked;
  info.moved = extent.moved;
  info.besides = extent.besides;
  info.split = extent.parts != nullptr;
  info.reason = static_cast<PlacementReason>(extent.reason);
  info.charged = extent.charged;
  info.plan_entry = extent.plan_entry;
  info.plan_instance = extent.plan_instance;
  info.parts = extent.parts;
  return info;
}

BlockInfo Placer::info_of(std::uintptr_t begin, std::size_t room, const BlockRecord& record,
                          const ExtentSpace& space) {
  BlockInfo info;
  info.begin = begin;
  info.bytes = record.bytes();
  info.room = room;
  info.caller = record.caller();
  info.space = &space;
  info.allocator = record.allocator();
  return info;
}

namespace {

const ExtentPart* copy_parts(const ExtentPart* from, std::span<ExtentPart> to) {
  std::size_t count = 0;
  for (; from != nullptr && count < to.size(); from = from->next) {
    to[count] = *from;
    to[count].next = nullptr;
    if (count != 0) to[count - 1].next = &to[count];
    ++count;
  }
  return count != 0 ? to.data() : nullptr;
}

} // namespace

bool Placer::find(const void* address, bool exact, BlockInfo& info,
                  std::span<ExtentPart> parts) const {
  ExtentSpace* space = ranges_.space_of(address);
  if (space == nullptr) return false;
  if (const Span* span = exact ? ranges_.span_of(address) : nullptr) {
    std::uintptr_t begin = 0;
    const BlockRecord* record = Heap::find(*span, address, true, &begin);
    if (record != nullptr) info = info_of(begin, span->block_bytes, *record, *space);
    return record != nullptr;
  }
  bool found = false, in_heap = false;
  space->visit_at(address, [&](const Extent& extent) {
    in_heap = extent.use == ExtentUse::heap;
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - extent.begin;
    if (in_heap || (exact && offset != 0) || offset >= extent.committed) return;
    info = info_of(extent);
    info.parts = copy_parts(extent.parts, parts);
    found = true;
  });
  if (in_heap && !exact && space->heap() != nullptr) // the heap's locks come before the extents'
    space->heap()->visit_at(address,
                            [&](std::uintptr_t begin, std::size_t room, const BlockRecord& record) {
                              info = info_of(begin, room, record, *space);
                              found = info.bytes != 0; // its owner may be freeing it
                            });
  return found;
}

bool Placer::resize_in_place(void* block, std::size_t bytes) {
  const HeldBlock held = this->held(block);
  if (held.bytes == 0 || bytes == 0) return false;
  const std::size_t room =
      held.extent != nullptr ? held.extent->committed : std::size_t{held.span->block_bytes};
  if (bytes > room || bytes < room / 2) return false;
  if (held.extent != nullptr) {
    const std::lock_guard guard(*held.space);
    held.extent->block_bytes = bytes;
  } else if (bytes < k_large_block) {
    held.record->resize(static_cast<std::uint32_t>(bytes));
  } else {
    return false;
  }
  return true;
}

bool Placer::reassign(void* block, std::uint32_t allocator, bool watched) {
  const HeldBlock held = this->held(block);
  if (held.extent != nullptr) {
    const std::lock_guard guard(*held.space);
    held.extent->allocator = allocator;
  } else if (held.record != nullptr) {
    held.record->reassign(allocator | (watched ? BlockRecord::k_watched : 0));
  }
  return held.bytes != 0;
}

namespace {

KindBytes counted_of(const Extent& extent) {
  KindBytes counted = extent.besides;
  counted[static_cast<std::size_t>(extent.charged)] += extent.committed - extent.apart;
  for (const ExtentPart* part = extent.parts; part != nullptr; part = part->next)
    counted[static_cast<std::size_t>(part->kind)] += part->end - part->begin;
  return counted;
}

} // namespace

bool Placer::counts_its_pages(const Extent& extent, std::string& why_not) const {
  if (!extent.space->bound()) return true; // the kernel refused the memory policy
  const KindBytes counted = counted_of(extent);
  PageCensus census;
  extent.space->backing().census(extent.begin, extent.committed, census);
  const ExtentPages pages = by_kind(extent, census);
  for (const MemoryKind kind : k_all_memory_kinds)
    if (const auto k = static_cast<std::size_t>(kind); counted[k] < pages.on[k])
      return why_not = "an extent has " + std::to_string(pages.on[k]) + " bytes in " +
                       std::string(name_of(kind)) + ", of which the ledger counts " +
                       std::to_string(counted[k]),
             false;
  if (extent.verified && !extent.moved && !pages.home)
    return why_not = "pages of a verified extent are elsewhere", false;
  return true;
}

bool Placer::is_sound(std::string& why_not, bool with_pages) {
  if (!ledger_.is_sound(why_not) || !ranges_.is_sound(why_not)) return false;
  std::array<std::uint64_t, k_memory_kinds + 1> charged{};
  bool sound = true;
  for_each_spread([&](Spread& spread) {
    sound = sound && spread.extents.is_sound(why_not, with_pages);
    if (!sound) return;
    spread.extents.for_each_counted([&](const Extent& extent) {
      const KindBytes counted = counted_of(extent);
      for (std::size_t kind = 0; kind < charged.size(); ++kind)
        charged[kind] += counted[kind];
      if (with_pages && sound) sound = counts_its_pages(extent, why_not);
    });
    charged[static_cast<std::size_t>(spread.extents.kind())] += spread.extents.open_bytes();
    sound = sound && spread.heap.is_sound(why_not);
  });
  if (!sound) return false;
  for (const MemoryKind kind : k_all_memory_kinds)
    if (charged[static_cast<std::size_t>(kind)] != ledger_.used(kind)) {
      why_not = "the ledger of " + std::string(name_of(kind)) + " says " +
                std::to_string(ledger_.used(kind)) + ", the extents " +
                std::to_string(charged[static_cast<std::size_t>(kind)]);
      return false;
    }
  return true;
}

void Placer::lock_all() {
  for (std::size_t tier = 0; tier < tier_count_; ++tier)
    places_[tier].lock(); // held while a heap is registered with the caches
  thread_caches::lock();
  lock_memory();
}

void Placer::lock_memory() {
  for_each_spread([](Spread& spread) { spread.heap.lock(); });
  for_each_spread([](Spread& spread) { spread.extents.lock(); });
  ranges_.lock();
  job_.lock();
}

void Placer::unlock_memory() {
  job_.unlock();
  ranges_.unlock();
  for_each_spread([](Spread& spread) { spread.extents.unlock(); });
  for_each_spread([](Spread& spread) { spread.heap.unlock(); });
}

// The child takes nothing more there, from the cache neither. The locks are free.
void Placer::leave_folder_to_parent() {
  folder_.leave_to_parent();
  for_each_spread([this](Spread& spread) {
    if (&spread.extents.backing() != &folder_) return;
    spread.extents.drop_cache(~std::size_t{0});
    spread.extents.for_each([this](const Extent& extent) {
      folder_.let_child_write(extent.begin, extent.committed);
    });
  });
}

// No other thread runs. What other threads kept or had taken, and what ended moves had reserved, is
// given back by the usual functions, which lock.
void Placer::forget_other_threads() {
  job_.forget_parent();
  group_.forget_announced();
  unlock_memory();
  if (folder_.is_open()) leave_folder_to_parent();
  thread_caches::forget_others();
  for_each_spread([this](Spread& spread) {
    const std::lock_guard guard(spread.extents);
    spread.extents.forget_other_threads([this](const Extent& extent) {
      PageCensus census;
      count_pages(extent.begin, extent.committed, census);
      return by_kind(extent, census);
    });
  });
  lock_memory();
}

void Placer::unlock_all() {
  unlock_memory();
  thread_caches::unlock();
  for (std::size_t tier = 0; tier < tier_count_; ++tier)
    places_[tier].unlock();
}

} // namespace omptier
