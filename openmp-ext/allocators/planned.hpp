// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks that a plan or a strategy places, whatever their allocator.
#pragma once

#include "allocators/allocation.hpp"

namespace omptier {

// Null when neither plan nor strategy applies, the source overrules them, or no allowed tier has
// room (one warning). allocator: null for the runtime's own.
void* place_by_plan_or_strategy(Placer& placer, Allocator* allocator,
                                const AllocationRequest& request);

// Once: there is no room. whose: "the plan" or "the strategy".
void warn_about_room(std::size_t bytes, const char* whose, Refusal why);

} // namespace omptier
