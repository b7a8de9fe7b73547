// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of include/ompx_memory.h. The header itself is not included here: it needs an
// omp.h; the declarations are repeated and a conformance test compiles both together.
#include "allocators/allocation.hpp"
#include "allocators/placement_text.hpp"
#include "traits/interned.hpp"

#include <cerrno>
#include <cstring>

#define OMPTIER_EXPORT extern "C" __attribute__((visibility("default")))

using namespace omptier;

OMPTIER_EXPORT uintptr_t ompx_name(const char* name) {
  if (name == nullptr) return 0;
  return intern_name(std::string_view(name, ::strnlen(name, k_longest_name + 1)));
}

OMPTIER_EXPORT int ompx_get_placement(const void* address, size_t bytes, PlacementReport* result) {
  if (result == nullptr || result->struct_size != sizeof(PlacementReport)) {
    errno = EINVAL;
    return -1;
  }
  if (!describe_placement(address, bytes, *result)) {
    errno = EINVAL;
    return -1;
  }
  return 0;
}

OMPTIER_EXPORT int ompx_dump(int fd) {
  return write_dump(fd) ? 0 : -1;
}

OMPTIER_EXPORT int ompx_phase(const char* name) {
  const omptier_observer* observer = runtime().observer.load(std::memory_order_acquire);
  if (name == nullptr) {
    if (observer != nullptr && observer->phase != nullptr) observer->phase("");
    return 0;
  }
  const uintptr_t interned = ompx_name(name);
  if (interned == 0) {
    errno = EINVAL;
    return -1;
  }
  if (observer != nullptr && observer->phase != nullptr) observer->phase(interned_text(interned));
  return 0;
}
