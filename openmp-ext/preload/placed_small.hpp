// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small blocks that a plan places (an entry with least_block): their calls are recognised here, and
// libomptier.so allocates them. Most mallocs are of calls that no entry names: these cost one
// look-up of the return address, or of the two innermost ones where a wrapper (C++'s new) calls
// malloc. A call that its words on the stack do not recognise is decided anew each time. While a
// program is recorded, its small blocks have their sites' spans (small_spans.hpp) and are not
// placed.
#pragma once

#include "borders/malloc_placement.h"
#include "preload/small_calls.hpp"

namespace omptier::preload::placed_small {

inline constexpr unsigned k_most_sites = 1024; // further ones are not placed

struct Site : SmallSite {
  std::uintptr_t handle = 0, rest = 0;
  std::uint32_t share = 0;             // of 2^32 blocks, how many `rest` gets
  std::size_t least = ~std::size_t{0}; // bytes of the smallest block that is placed
};

// Calls that no entry names, by the low bits of a key; one may push another out.
class Others {
public:
  [[gnu::always_inline]] bool hold(std::uint64_t key) const {
    return keys_[slot_of(key)].load(std::memory_order_relaxed) == key;
  }
  void add(std::uint64_t key) { keys_[slot_of(key)].store(key, std::memory_order_relaxed); }

private:
  static constexpr unsigned k_bits = 15;
  static unsigned slot_of(std::uint64_t key) { return static_cast<unsigned>(key) % (1u << k_bits); }
  std::atomic<std::uint64_t> keys_[1u << k_bits] = {};
};

extern __attribute__((visibility("hidden"))) std::atomic<const omptier_malloc*> g_table;
extern __attribute__((visibility("hidden"))) Others g_others;

// Called before main, if the plan places small blocks.
void start(const omptier_malloc* table);
inline bool are_used() {
  return g_table.load(std::memory_order_relaxed) != nullptr;
}

// On the forking thread, in both processes.
void before_fork();
void after_fork();

// bytes: small. Null: the block is the program's malloc's.
const Site* site_of(std::size_t bytes, Call call);
// A block of the call's site, else of the program's malloc.
void* allocate_or_next(std::size_t bytes, Call call);
// Whether no entry has a call with this return address. Always false unless are_used().
[[gnu::always_inline]] inline bool is_of_nobody(Call call) {
  return g_others.hold(reinterpret_cast<std::uint64_t>(call.code));
}
// From that site's memory, else the program's malloc. alignment: power of two, or 0. The contents
// are undefined.
void* allocate(const Site& site, std::size_t bytes, std::size_t alignment, const void* caller);
// By the general way where the block is none of these.
void release(void* block);

} // namespace omptier::preload::placed_small
