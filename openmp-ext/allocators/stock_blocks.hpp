// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of libomp's own memory that an allocator of ours handed out: fallbacks, and allocators
// over the default space. libomp frees them; this table stores their allocator and the reason.
#pragma once

#include "base/page_arena.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>

namespace omptier {

enum class StockReason : std::uint8_t { default_space, fallback };

struct StockBlock {
  std::uintptr_t begin = 0; // 0 = free slot, 1 = removed
  std::size_t bytes = 0;
  const void* caller = nullptr;
  std::uint32_t allocator = 0;
  StockReason reason = StockReason::fallback;
  std::uint8_t wanted = 4;  // MemoryKind that was wanted
  std::uint8_t refusal = 0; // Refusal of the last tier tried
};

class StockBlocks {
public:
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }
  void add(const StockBlock& block); // not stored when memory for the table is refused
  bool remove(const void* block, StockBlock& removed);
  bool find_exact(const void* block, StockBlock& found);
  bool find(const void* address, StockBlock& found); // the block that contains address

  template <typename F> void for_each(F&& visit) {
    const std::lock_guard guard(lock_);
    for (std::size_t i = 0; i < capacity_; ++i)
      if (slots_[i].begin > k_removed) visit(slots_[i]);
  }
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

private:
  static constexpr std::uintptr_t k_removed = 1;
  bool grow();
  void insert(const StockBlock& block);
  std::size_t place_of(std::uintptr_t begin) const {
    return (begin >> 4) * 0x9e3779b97f4a7c15u >> 20 & (capacity_ - 1);
  }

  std::mutex lock_;
  std::atomic<std::size_t> count_{0};
  std::size_t used_ = 0; // slots that are not free, including removed ones
  std::size_t capacity_ = 0;
  StockBlock* slots_ = nullptr;
};

} // namespace omptier
