// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An open-addressed hash table in pages of its own, at most half full.
#include "allocators/stock_blocks.hpp"

namespace omptier {

void StockBlocks::insert(const StockBlock& block) {
  std::size_t at = place_of(block.begin);
  while (slots_[at].begin > k_removed)
    at = (at + 1) & (capacity_ - 1);
  if (slots_[at].begin == 0) ++used_;
  slots_[at] = block;
}

bool StockBlocks::grow() {
  const std::size_t old_capacity = capacity_;
  StockBlock* old = slots_;
  // If many slots were removed, the same size is enough.
  const std::size_t live = count_.load(std::memory_order_relaxed);
  const std::size_t wanted =
      old_capacity == 0 ? 512 : (live * 4 > old_capacity ? old_capacity * 2 : old_capacity);
  auto* fresh = static_cast<StockBlock*>(map_pages(wanted * sizeof(StockBlock)));
  if (fresh == nullptr) return false;
  slots_ = fresh;
  capacity_ = wanted;
  used_ = 0;
  for (std::size_t i = 0; i < old_capacity; ++i)
    if (old[i].begin > k_removed) insert(old[i]);
  if (old != nullptr) unmap_pages(old, old_capacity * sizeof(StockBlock));
  return true;
}

void StockBlocks::add(const StockBlock& block) {
  const std::lock_guard guard(lock_);
  if (used_ * 2 >= capacity_ && !grow() && used_ + 1 >= capacity_) return;
  insert(block);
  count_.fetch_add(1, std::memory_order_relaxed);
}

bool StockBlocks::remove(const void* block, StockBlock& removed) {
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  const std::lock_guard guard(lock_);
  if (capacity_ == 0) return false;
  for (std::size_t at = place_of(begin); slots_[at].begin != 0; at = (at + 1) & (capacity_ - 1))
    if (slots_[at].begin == begin) {
      removed = slots_[at];
      slots_[at] = {};
      slots_[at].begin = k_removed;
      count_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
  return false;
}

bool StockBlocks::find_exact(const void* block, StockBlock& found) {
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  const std::lock_guard guard(lock_);
  if (capacity_ == 0) return false;
  for (std::size_t at = place_of(begin); slots_[at].begin != 0; at = (at + 1) & (capacity_ - 1))
    if (slots_[at].begin == begin) return found = slots_[at], true;
  return false;
}

bool StockBlocks::find(const void* address, StockBlock& found) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard guard(lock_);
  for (std::size_t i = 0; i < capacity_; ++i)
    if (slots_[i].begin > k_removed && at - slots_[i].begin < slots_[i].bytes) {
      found = slots_[i];
      return true;
    }
  return false;
}

} // namespace omptier
