// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omp_init_allocator, for the hooks and for other functions that read traits in the same way.
#pragma once

#include "allocators/runtime.hpp"

#include <span>

namespace omptier {

// False: nothing of ours is named. True with *handle 0: refused, with a warning.
bool init_allocator(OmpValue space, std::span<const TraitPair> traits, OmpValue* handle);
bool concerns_us(OmpValue space, std::span<const TraitPair> traits);
void make_allocator(OmpValue space, std::span<const TraitPair> traits, OmpValue* handle);
// Reads space and traits; given traits override those in set. False, with problem, if refused.
bool read_allocator(OmpValue number, std::span<const TraitPair> traits, Space& space, TraitSet& set,
                    TraitProblem& problem);

} // namespace omptier
