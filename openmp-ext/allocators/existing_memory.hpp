// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Placing memory that exists already: ranges named by the program, and the plan's statics.
#pragma once

#include "allocators/runtime.hpp"
#include "traits/trait_set.hpp"

namespace omptier {

// Implements ompx_place_range; returns 0 or an errno.
int place_range(void* begin, std::size_t bytes, OmpValue allocator);
// The same for the large block of ours that begins there.
int move_own_block(Placer& placer, const void* begin, std::size_t bytes, MemoryKind kind);

// If no loaded module has statics of the plan, the platform is not discovered.
void place_statics_of_plan();

} // namespace omptier
