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
  leaves_ = reserve<Word*>(k_leaves);
  slots_ = reserve<ObjectRange>(k_most_objects);
  granules_ = reserve<Word[k_granules]>(k_most_tables);
  return leaves_ != nullptr && slots_ != nullptr && granules_ != nullptr;
}

ObjectMap::Word* ObjectMap::page_word(std::uint64_t address, bool make) {
  if (address >> k_address_bits != 0) return nullptr;
  Word*& leaf = leaves_[address >> k_leaf_bits];
  if (leaf == nullptr && make) {
    Word* fresh = reserve<Word>(k_leaf_pages);
    std::atomic_thread_fence(std::memory_order_release);
    leaf = fresh;
  }
  if (leaf == nullptr) return nullptr;
  return &leaf[address >> k_page_bits & (k_leaf_pages - 1)];
}

// Granules of one page; a table that has become empty goes back.
void ObjectMap::set_granules(Word& page, std::uint64_t begin, std::uint64_t end, Word word) {
  if ((page & k_shared) == 0) {
    if (word == 0 && page == 0) return;
    Word table = free_table_;
    if (table != 0)
      free_table_ = granules_[table - 1][0];
    else if (tables_used_ < k_most_tables)
      table = ++tables_used_;
    else
      return;
    std::fill_n(granules_[table - 1], k_granules, page);
    std::atomic_thread_fence(std::memory_order_release);
    page = table | k_shared;
  }
  Word* granules = granules_[(page & ~k_shared) - 1];
  const auto first = (begin & (k_page - 1)) >> k_granule_bits;
  const auto last = ((end - 1) & (k_page - 1)) >> k_granule_bits;
  std::fill(granules + first, granules + last + 1, word);
  if (word != 0 || std::any_of(granules, granules + k_granules, [](Word w) { return w != 0; }))
    return;
  const Word table = page & ~k_shared;
  page = 0;
  granules[0] = free_table_;
  free_table_ = table;
}

void ObjectMap::set(std::uint64_t begin, std::uint64_t end, Word word) {
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t next = std::min(end, (at | (k_page - 1)) + 1);
    if (Word* page = page_word(at, word != 0)) {
      if (next - at == k_page && (*page & k_shared) == 0)
        *page = word;
      else
        set_granules(*page, at, next, word);
    }
    at = next;
  }
}

void ObjectMap::begin(std::uint64_t address, std::uint64_t bytes, std::uint64_t object) {
  if (leaves_ == nullptr || address == 0 || address >> k_address_bits != 0) return;
  const std::lock_guard guard(lock_);
  std::uint32_t slot = free_slot_;
  if (slot != 0)
    free_slot_ = static_cast<std::uint32_t>(slots_[slot - 1].begin);
  else if (slots_used_ < k_most_objects)
    slot = ++slots_used_;
  else
    return;
  const std::uint64_t end = address + std::max<std::uint64_t>(bytes, 1);
  slots_[slot - 1] = {address, end, object};
  set(address, end, slot);
  changed();
}

void ObjectMap::end(std::uint64_t address) {
  if (leaves_ == nullptr) return;
  const std::lock_guard guard(lock_);
  const ObjectRange range = find(address);
  if (range.begin != address) return;
  const Word page = *page_word(address, false);
  const Word slot =
      (page & k_shared) == 0
          ? page
          : granules_[(page & ~k_shared) - 1][(address & (k_page - 1)) >> k_granule_bits];
  set(range.begin, range.end, 0);
  slots_[slot - 1] = {free_slot_, 0, 0};
  free_slot_ = slot;
  changed();
}

ObjectRange ObjectMap::find(std::uint64_t address) const {
  if (leaves_ == nullptr || address >> k_address_bits != 0) return {};
  const Word* leaf = leaves_[address >> k_leaf_bits];
  if (leaf == nullptr) return {};
  Word word = leaf[address >> k_page_bits & (k_leaf_pages - 1)];
  if ((word & k_shared) != 0)
    word = granules_[(word & ~k_shared) - 1][(address & (k_page - 1)) >> k_granule_bits];
  if (word == 0) return {};
  const ObjectRange range = slots_[word - 1];
  return range.end != 0 ? range : ObjectRange{};
}

void ObjectMap::forked_child() {
  new (&lock_) std::mutex;
}

bool ObjectMap::is_consistent() const {
  for (std::uint64_t i = 0; leaves_ != nullptr && i < k_leaves; ++i) {
    for (std::uint64_t k = 0; leaves_[i] != nullptr && k < k_leaf_pages; ++k) {
      const Word word = leaves_[i][k];
      const std::uint64_t page = i << k_leaf_bits | k << k_page_bits;
      if ((word & k_shared) != 0) {
        if ((word & ~k_shared) > tables_used_) return false;
      } else if (word != 0) {
        const ObjectRange& range = slots_[word - 1];
        if (word > slots_used_ || range.begin > page || range.end < page + k_page) return false;
      }
    }
  }
  return true;
}

} // namespace omptier::exact
