// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Our OpenMP allocators: predefined ones and those of omp_init_allocator. They lie in one table in
// address space of our own, and a handle is its entry's address: a comparison decides whether a
// handle is ours, and no untrusted pointer is read. (libomp uses handles above 1024 as pointers, so
// we check first.) Blocks refer to their allocator by number; an entry is reused only after it was
// destroyed and its last block freed. To find such entries, live blocks are searched, but only when
// the table is full: blocks are not counted. An entry that never had a block is free at once.
#pragma once

#include "allocators/pool.hpp"
#include "placement/span.hpp"
#include "traits/trait_set.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace omptier {

inline constexpr std::uint32_t k_no_allocator = 0; // number of blocks placed by plan or strategy
inline constexpr std::uint8_t k_undecided = 0xff;  // no tier was chosen at ompx_commit

struct alignas(64) Allocator {
  std::atomic<bool> live{false};
  bool predefined = false;
  bool standard_only = false; // made of standard names: pool_size as libomp counts it
  Relaxed<bool> of_one_block = false; // made for a declaration: ends with its last block
  Relaxed<std::uint8_t> decided_tier = k_undecided; // tried before the others
  std::uint32_t number = 0;
  OmpValue handle = 0;
  Space space = Space::standard_default;
  TraitSet traits;
  Pool pool;                               // bytes charged to pool_size
  std::atomic<std::uint64_t> fallbacks{0}; // allocations that took the fallback
  // Different in each life of the entry, 0 between lives: validates learnt routes.
  std::atomic<std::uint32_t> life{0};
  Allocator* next_free = nullptr;
  bool listed = false; // in the free list

  std::atomic<bool> has_allocated{false}; // a block was taken in this life
  std::atomic<std::uint32_t> blocks{0};   // live ones, if of_one_block

  bool pooled() const { return traits.pool_size != k_default_value; }
  // Every allocation and free must be counted at once: no fast path.
  bool wants_to_know() const { return pooled() || of_one_block; }
  void count_in() {
    if (!has_allocated.load(std::memory_order_relaxed))
      has_allocated.store(true, std::memory_order_relaxed);
    if (of_one_block) blocks.fetch_add(1, std::memory_order_relaxed);
  }

  // Over the default space, which is the runtime's own memory, but with traits that only placed
  // memory can have. Served from DRAM, as default memory usually is.
  bool places_default_space() const {
    return space == Space::standard_default &&
           (traits.pinned || traits.partition != value::environment);
  }
  bool required() const {
    if (traits.placement != 0) return traits.placement == value::required;
    return space != Space::automatic && space != Space::standard_default;
  }
  // Bytes that a block charges to pool_size. An allocator of standard names also charges the
  // 40-byte descriptor that libomp puts in front of each block, because LLVM's tests check that.
  std::uint64_t pool_charge(std::size_t bytes) const { return bytes + (standard_only ? 40 : 0); }
};

class AllocatorTable {
public:
  static constexpr std::uint32_t k_entries = 1 << 15; // numbers fit the records of small blocks

  struct Marks {
    std::array<std::uint64_t, k_entries / 64> bits{};
    void add(std::uint32_t number) { bits[number / 64] |= std::uint64_t{1} << number % 64; }
    bool has(std::uint32_t number) const { return (bits[number / 64] >> number % 64 & 1) != 0; }
  };
  // mark_used adds the allocators of all live blocks; called with the table locked.
  void set_mark_used(void (*mark_used)(Marks&)) { mark_used_ = mark_used; }

  // The allocator of a handle that is ours and live, or null. Lock-free.
  Allocator* find(OmpValue handle);
  // Unused numbers; libomp must not see them: it would use the last of them as a pointer.
  static bool is_no_handle(OmpValue handle) { return handle > 504 && handle <= 1024; }
  // Whether the value is an allocator made here, destroyed or not.
  bool made_here(OmpValue handle) const {
    const Allocator* entries = table_.load(std::memory_order_acquire);
    return entries != nullptr &&
           handle - reinterpret_cast<OmpValue>(entries) < k_entries * sizeof(Allocator);
  }
  // By number; valid while one of its blocks is live.
  Allocator* by_number(std::uint32_t number) {
    Allocator* entries = table_.load(std::memory_order_acquire);
    return number != k_no_allocator && entries != nullptr ? &entries[number] : nullptr;
  }
  // Null when address space or entries are exhausted.
  Allocator* make(Space space, const TraitSet& traits, bool standard_only);
  // False when the handle is not ours. Predefined handles stay; repeating it does nothing.
  bool destroy(OmpValue handle);
  // After a change of the allocator's traits: makes threads choose tiers again.
  void forget_routes(Allocator& allocator);
  void forget_all_routes();
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

private:
  static constexpr std::uint32_t k_first_dynamic = 16;
  static_assert(k_entries == BlockRecord::k_watched);
  // The first numbers are those of the predefined ones, in their order; 0: not one of ours.
  static constexpr std::uint32_t number_of_predefined(OmpValue handle) {
    if (handle >= 2 && handle <= 8) return static_cast<std::uint32_t>(handle - 1);
    return handle >= 500 && handle <= 504 ? static_cast<std::uint32_t>(handle - 492) : 0;
  }
  Allocator* table() {
    Allocator* entries = table_.load(std::memory_order_acquire);
    return entries != nullptr ? entries : make_table();
  }
  Allocator* make_table();
  void collect();

  std::atomic<Allocator*> table_{nullptr};
  std::mutex lock_;
  std::uint32_t used_ = k_first_dynamic;
  std::uint32_t lives_ = 0;
  Allocator* free_ = nullptr;
  void (*mark_used_)(Marks&) = nullptr;
};

inline Allocator* AllocatorTable::find(OmpValue handle) {
  if (handle <= 504) {
    const std::uint32_t number = number_of_predefined(handle);
    Allocator* entries = number != 0 ? table() : nullptr;
    return entries != nullptr ? &entries[number] : nullptr;
  }
  Allocator* entries = table_.load(std::memory_order_acquire);
  const auto offset = handle - reinterpret_cast<OmpValue>(entries);
  if (entries == nullptr || offset >= k_entries * sizeof(Allocator) ||
      offset % sizeof(Allocator) != 0)
    return nullptr;
  Allocator* entry = &entries[offset / sizeof(Allocator)];
  return entry->live.load(std::memory_order_acquire) ? entry : nullptr;
}

} // namespace omptier
