// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes in use of an allocator's pool_size. In OpenMP the access trait decides what the limit
// applies to: the whole process (all), or each contention group, team or thread by itself. A
// *scope* identifies such a group, 0 the process; each scope has a counter of its own in one page.
// Blocks do not store their scope, since they should be freed inside it: the bytes of a block freed
// elsewhere are subtracted from the scope that holds most, so the sum stays right.
//
// Lock-free, no malloc. If scopes share a counter, the limit is reached sooner, never later.
#pragma once

#include <atomic>
#include <cstdint>

namespace omptier {

class Pool {
public:
  // False, and nothing charged, if the limit would be exceeded.
  bool charge(std::uintptr_t scope, std::uint64_t bytes, std::uint64_t limit);
  void give_back(std::uintptr_t scope, std::uint64_t bytes);
  std::uint64_t used(std::uintptr_t scope) const;

  // Keeps the page of counters for the entry's next allocator. The allocator must not be in use.
  void* take_page() { return slots_.exchange(nullptr); }
  void reuse_page(void* page);

private:
  struct Slot {
    std::atomic<std::uintptr_t> scope{0}; // 0 = free
    std::atomic<std::uint64_t> used{0};   // bytes
  };
  static constexpr std::size_t k_slots = 256;

  Slot* slots();
  std::atomic<std::uint64_t>* counter(std::uintptr_t scope);

  std::atomic<std::uint64_t> shared_{0}; // bytes of scope 0
  std::atomic<Slot*> slots_{nullptr};
};

} // namespace omptier
