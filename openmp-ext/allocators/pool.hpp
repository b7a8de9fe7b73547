// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes in use of an allocator's pool_size. OpenMP lets the access trait say whose bytes the limit
// holds for: everybody's together (all), or those of each contention group, team or thread by
// itself. A *scope* is the identity of such a group, 0 for everybody; each scope met gets a counter
// of its own in one page. Blocks do not remember their scope, since they are to be freed inside it:
// what is freed elsewhere is taken from the scope that holds most, so that the sum stays right.
//
// Lock-free, no malloc. With more scopes than counters, some share one: then the limit is met
// sooner, never later.
#pragma once

#include <atomic>
#include <cstdint>

namespace omptier {

class Pool {
public:
  // Counts bytes for the scope; false, and nothing counted, when more than limit were in use then.
  bool charge(std::uintptr_t scope, std::uint64_t bytes, std::uint64_t limit);
  // Bytes charged before.
  void give_back(std::uintptr_t scope, std::uint64_t bytes);
  std::uint64_t used(std::uintptr_t scope) const;

  // The page of counters, to be used again by the next allocator in the same place. The allocator
  // must not be in use.
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
