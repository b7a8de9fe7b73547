// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text form of allocators, as OMP_ALLOCATOR holds it: the name of a predefined allocator, or the
// name of a memory space, alone or followed by ":key=value,…". Names match without regard to case;
// keys and values are written with or without their prefix ("omp_atk_",
// "ompx_atv_access_pattern_"), sizes with K, M, G, T, names of groups and labels as they are.
#pragma once

#include "traits/trait_set.hpp"

#include <array>

namespace omptier {

struct AllocatorText {
  std::size_t length = 0;                 // characters parsed; 0 = not an allocator of ours
  OmpValue predefined = k_null_allocator; // handle, when a predefined allocator was named
  Space space = Space::standard_default;  // else space and traits
  std::array<TraitPair, 32> traits{};
  int trait_count = 0;
  // Only we can parse it. False: libomp can too, and does where its own memory is meant.
  bool for_us = false;
};

// Parses ompx_ names, the predefined allocators but omp_default_mem_alloc, and memory spaces with
// traits. The default space without traits, and any other text, is left to libomp: length 0. False:
// ours but wrong; problem is filled, length is the part parsed.
bool read_allocator_text(std::string_view text, AllocatorText& result, TraitProblem& problem);

} // namespace omptier
