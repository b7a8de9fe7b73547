// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omp_init_allocator, for the hooks and for whoever reads traits as it does.
#pragma once

#include "allocators/runtime.hpp"

#include <span>

namespace omptier {

// False = nothing of ours is named. *handle 0 = refused (said on stderr).
bool init_allocator(OmpValue space, std::span<const TraitPair> traits, OmpValue* handle);
// The two halves of it.
bool concerns_us(OmpValue space, std::span<const TraitPair> traits);
void make_allocator(OmpValue space, std::span<const TraitPair> traits, OmpValue* handle);
// What it reads: space number and traits, put over what set holds. False and problem when refused.
bool read_allocator(OmpValue number, std::span<const TraitPair> traits, Space& space, TraitSet& set,
                    TraitProblem& problem);

} // namespace omptier
