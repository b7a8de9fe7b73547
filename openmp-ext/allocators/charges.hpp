// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an allocator is charged for its live blocks: bytes of its pool_size, by the scope that its
// access trait names, and the number of blocks of an allocator that ends with its last one.
// Lock-free.
#pragma once

#include "allocators/allocator_table.hpp"

#include <cstddef>
#include <cstdint>

namespace omptier {

// No block is larger: sizes near the end of the address space would overflow libomp's arithmetic.
inline constexpr std::size_t k_largest_block = PTRDIFF_MAX;

// The live block that an allocation is to replace (omp_realloc): of its own pool, only the
// difference is counted.
struct Replaced {
  const Allocator* charged = nullptr; // allocator whose pool its bytes are charged to
  std::size_t bytes = 0;
  bool taken_over = false; // its charge belongs to the new block now
};

// False when the pool is used up.
bool charge_pool(Allocator& allocator, std::size_t bytes, Replaced* replaced);
// A block ended; with replaced, an allocation charged with it was not made after all.
void uncharge_pool(Allocator& allocator, std::size_t bytes, Replaced* replaced = nullptr);
// A live block becomes another size, in its place or in another: only the difference counts.
bool recharge_pool(Allocator& allocator, std::size_t from, std::size_t to);

// A block that count_in() counted is gone, of an allocator that wants to know. charged: its bytes
// are still charged to the pool. May end the allocator.
void count_out(Allocator& allocator, std::size_t bytes, bool charged);

} // namespace omptier
