// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// malloc's small blocks that a plan names (an entry with least_block): libomptier_preload.so
// recognises their calls and allocates them by the handle that small_call gave. They come from the
// heaps of omp_alloc's small blocks, by the same fast path. Functions of
// borders/malloc_placement.h.
#pragma once

#include "borders/malloc_placement.h"

#include <cstddef>
#include <cstdint>

namespace omptier::small_blocks {

std::size_t least();
void decide(const void* caller, omptier_small_call* decided);
void* allocate_quickly(std::size_t bytes, std::size_t alignment, std::uintptr_t handle,
                       const void* caller,
                       void* (*otherwise)(std::size_t, std::size_t, std::uintptr_t, const void*));
void* allocate(std::size_t bytes, std::size_t alignment, std::uintptr_t handle, const void* caller,
               std::uintptr_t* bounds);
void release_quickly(void* block, void (*otherwise)(void*));

} // namespace omptier::small_blocks
