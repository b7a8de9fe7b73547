// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an allocator is charged for its live blocks: bytes of its pool_size in the scope of its
// access trait, and the number of blocks if the allocator ends with its last one. Lock-free.
#pragma once

#include "allocators/allocator_table.hpp"

#include <cstddef>
#include <cstdint>

namespace omptier {

// Limit on a block: larger sizes would overflow libomp's arithmetic.
inline constexpr std::size_t k_largest_block = PTRDIFF_MAX;

// The live block that omp_realloc replaces: only the difference counts for its own pool.
struct Replaced {
  const Allocator* charged = nullptr; // allocator whose pool its bytes are charged to
  std::size_t bytes = 0;
  bool taken_over = false; // the new block has its charge now
};

bool charge_pool(Allocator& allocator, std::size_t bytes, Replaced* replaced);
// Called when a block ends; with replaced: when the allocation charged with it failed.
void uncharge_pool(Allocator& allocator, std::size_t bytes, Replaced* replaced = nullptr);
// For a live block that changes its size, in place or not; only the difference counts.
bool recharge_pool(Allocator& allocator, std::size_t from, std::size_t to);

// To be called for a block counted by count_in(), once it is gone. charged: its bytes are still
// charged to the pool. May end the allocator.
void count_out(Allocator& allocator, std::size_t bytes, bool charged);

} // namespace omptier
