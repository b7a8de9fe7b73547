// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sampling/exact/object_map.hpp"

#include "base/os.hpp"

#include <algorithm>
#include <new>
#include <sys/mman.h>

namespace omptier::exact {
namespace {

template <typename T> T* reserve(std::uint64_t count) {
  void* memory = os().map(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

} // namespace

bool ObjectMap::open() {
  if (leaves_ != nullptr) return true;
  leaves_ = reserve<std::atomic<SharedWord*>>(k_leaves);
  slots_ = reserve<Slot>(k_most_objects);
  granules_ = reserve<SharedWord[k_granules]>(k_most_tables);
  return leaves_ != nullptr && slots_ != nullptr && granules_ != nullptr;
}

ObjectMap::SharedWord* ObjectMap::page_word(std::uint64_t address, bool make) {
  if (address >> k_address_bits != 0) return nullptr;
  std::atomic<SharedWord*>& entry = leaves_[address >> k_leaf_bits];
  SharedWord* leaf = entry.load(std::memory_order_relaxed);
  if (leaf == nullptr && make) {
    leaf = reserve<SharedWord>(k_leaf_pages);
    entry.store(leaf, std::memory_order_release);
  }
  if (leaf == nullptr) return nullptr;
  return &leaf[address >> k_page_bits & (k_leaf_pages - 1)];
}

// Sets granules of one page; frees the page's table if it has become empty.
void ObjectMap::set_granules(SharedWord& page, std::uint64_t begin, std::uint64_t end, Word word) {
  const Word before = page.load(std::memory_order_relaxed);
  Word table = before & ~k_shared;
  if ((before & k_shared) == 0) {
    if (word == 0 && before == 0) return;
    table = free_table_;
    if (table != 0)
      free_table_ = granules_[table - 1][0].load(std::memory_order_relaxed);
    else if (tables_used_ < k_most_tables)
      table = ++tables_used_;
    else
      return;
    for (SharedWord& granule : granules_[table - 1])
      granule.store(before, std::memory_order_relaxed);
    page.store(table | k_shared, std::memory_order_release);
  }
  SharedWord* granules = granules_[table - 1];
  const auto first = (begin & (k_page - 1)) >> k_granule_bits;
  const auto last = ((end - 1) & (k_page - 1)) >> k_granule_bits;
  for (auto i = first; i <= last; ++i)
    granules[i].store(word, std::memory_order_release);
  const auto is_set = [](const SharedWord& w) { return w.load(std::memory_order_relaxed) != 0; };
  if (word != 0 || std::any_of(granules, granules + k_granules, is_set)) return;
  page.store(0, std::memory_order_relaxed);
  granules[0].store(free_table_, std::memory_order_relaxed);
  free_table_ = table;
}

void ObjectMap::set(std::uint64_t begin, std::uint64_t end, Word word) {
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t next = std::min(end, (at | (k_page - 1)) + 1);
    if (SharedWord* page = page_word(at, word != 0)) {
      if (next - at == k_page && (page->load(std::memory_order_relaxed) & k_shared) == 0)
        page->store(word, std::memory_order_release);
      else
        set_granules(*page, at, next, word);
    }
    at = next;
  }
}

void ObjectMap::begin(std::uint64_t address, std::uint64_t bytes, std::uint64_t object) {
  if (leaves_ == nullptr || address == 0 || address >> k_address_bits != 0) return;
  const std::lock_guard guard(lock_);
  std::uint32_t number = free_slot_;
  if (number != 0)
    free_slot_ = static_cast<std::uint32_t>(slots_[number - 1].begin.load());
  else if (slots_used_ < k_most_objects)
    number = ++slots_used_;
  else
    return;
  const std::uint64_t end = address + std::max<std::uint64_t>(bytes, 1);
  Slot& slot = slots_[number - 1];
  const std::uint32_t version = slot.version.load(std::memory_order_relaxed) | 1;
  slot.version.store(version, std::memory_order_relaxed); // not reachable by readers yet
  slot.begin.store(address, std::memory_order_release);
  slot.end.store(end, std::memory_order_release);
  slot.object.store(object, std::memory_order_release);
  slot.version.store(version + 1, std::memory_order_release);
  set(address, end, number);
  changed();
}

void ObjectMap::end(std::uint64_t address) {
  if (leaves_ == nullptr) return;
  const std::lock_guard guard(lock_);
  const Word number = word_of(address);
  const ObjectRange range = range_of(number);
  if (number == 0 || range.begin != address) return;
  set(range.begin, range.end, 0);
  Slot& slot = slots_[number - 1];
  slot.version.fetch_add(1, std::memory_order_relaxed);
  slot.begin.store(free_slot_, std::memory_order_release);
  free_slot_ = number;
  changed();
}

ObjectMap::Word ObjectMap::word_of(std::uint64_t address) const {
  if (address >> k_address_bits != 0) return 0;
  const SharedWord* leaf = leaves_[address >> k_leaf_bits].load(std::memory_order_acquire);
  if (leaf == nullptr) return 0;
  const SharedWord& page = leaf[address >> k_page_bits & (k_leaf_pages - 1)];
  const Word word = page.load(std::memory_order_acquire);
  if ((word & k_shared) == 0) return word;
  return granules_[(word & ~k_shared) - 1][(address & (k_page - 1)) >> k_granule_bits].load(
      std::memory_order_acquire);
}

// The loads stay in order; the second one of the version is the last.
ObjectRange ObjectMap::range_of(Word word) const {
  if (word == 0) return {};
  const Slot& slot = slots_[word - 1];
  const std::uint32_t version = slot.version.load(std::memory_order_acquire);
  const ObjectRange range{slot.begin.load(std::memory_order_acquire),
                          slot.end.load(std::memory_order_acquire),
                          slot.object.load(std::memory_order_acquire)};
  const bool whole = version % 2 == 0 && slot.version.load(std::memory_order_relaxed) == version;
  return whole ? range : ObjectRange{};
}

ObjectRange ObjectMap::find(std::uint64_t address) const {
  if (leaves_ == nullptr) return {};
  const ObjectRange range = range_of(word_of(address));
  constexpr std::uint64_t k_within = (1u << k_granule_bits) - 1;
  const bool holds =
      address >= (range.begin & ~k_within) && address < ((range.end + k_within) & ~k_within);
  return holds ? range : ObjectRange{};
}

void ObjectMap::forked_child() {
  new (&lock_) std::mutex;
}

bool ObjectMap::is_consistent() const {
  for (std::uint64_t i = 0; leaves_ != nullptr && i < k_leaves; ++i) {
    const SharedWord* leaf = leaves_[i].load();
    for (std::uint64_t k = 0; leaf != nullptr && k < k_leaf_pages; ++k) {
      const Word word = leaf[k].load();
      const std::uint64_t page = i << k_leaf_bits | k << k_page_bits;
      if ((word & k_shared) != 0) {
        if ((word & ~k_shared) > tables_used_) return false;
      } else if (word != 0) {
        const ObjectRange range = range_of(word);
        if (word > slots_used_ || range.begin > page || range.end < page + k_page) return false;
      }
    }
  }
  return true;
}

} // namespace omptier::exact
