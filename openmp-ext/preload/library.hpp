// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finding libomptier.so, which lies beside this library, and the life of a process: start, fork,
// end.
#pragma once

#include "borders/malloc_placement.h"

#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <unistd.h>

namespace omptier::preload {

// The table of libomptier.so, which is loaded now if it was not; null when it is not there or the
// process is privileged (setuid). Loads a library: not for use inside malloc.
const omptier_malloc* library();

// A library that lies beside this one, loaded; null when it is not there.
void* open_beside(const char* name);

// What such a library's function gives for the version; null when it has none.
template <typename Table>
const Table* attach(void* library, const char* function, std::uint32_t version) {
  void* found = library != nullptr ? ::dlsym(library, function) : nullptr;
  if (found == nullptr) return nullptr;
  return reinterpret_cast<const Table* (*)(std::uint32_t)>(found)(version);
}

struct AddressRange {
  std::uintptr_t begin = 0, end = 0;
  const char* name = ""; // the loader's, of the library's file; as long as it is loaded
  bool holds(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= begin && at < end;
  }
};
// From the first to the last segment of the library around an address; empty when there is none.
// Waits for nobody who loads a library.
AddressRange library_around(const void* address);

// A function of libomptier.so, or null.
void* library_function(const char* name);

inline std::size_t page() { // bytes
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Which OpenMP runtime is behind us; another one than ours is offered to libomptier.so
// (openmp.cpp).
void find_openmp_runtime();

} // namespace omptier::preload
