// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stand-in for libomp at the border of hooks, for tests that need none of its behaviour: its
// memory is malloc's, its default allocator is number 1, it tells neither sizes nor scopes, and has
// no barriers.
#pragma once

#include "borders/libomp_hooks.h"

#include <cstdlib>

namespace omptier {

inline void* stand_in_allocate(std::size_t size, std::size_t alignment, std::uintptr_t) {
  void* block = nullptr;
  return posix_memalign(&block, alignment < 16 ? 16 : alignment, size) == 0 ? block : nullptr;
}

inline constexpr omptier_runtime k_stand_in_runtime = {
    .version = OMPTIER_HOOKS_VERSION,
    .size = sizeof(omptier_runtime),
    .stock_allocate = stand_in_allocate,
    .stock_free = std::free,
    .stock_size = [](const void*) -> std::size_t { return 0; },
    .default_allocator = []() -> std::uintptr_t { return 1; },
    .stock_owner = [](const void*) -> std::uintptr_t { return 1; },
    .scope = [](std::uintptr_t) -> std::uintptr_t { return 1; },
    .call_at_barriers = [](void (*)()) {}};

// Attaches it; once a process.
inline const omptier_hooks* attach_stand_in_runtime() {
  return omptier_runtime_attach(OMPTIER_HOOKS_VERSION, &k_stand_in_runtime);
}

} // namespace omptier
