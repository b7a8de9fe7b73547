// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds libomptier.so in this library's folder; start, fork and end of a process.
#pragma once

#include "borders/malloc_placement.h"
#include "preload/next.hpp"

#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <unistd.h>

namespace omptier::preload {

// The table of libomptier.so, loaded at the first call; null when it is missing or the process is
// privileged (setuid). Loads a library: not for use inside malloc.
const omptier_malloc* library();

// From this library's folder; null when it is missing.
void* open_beside(const char* name);

// The library's table for the version; null when it has none.
template <typename Table>
const Table* attach(void* library, const char* function, std::uint32_t version) {
  void* found = library != nullptr ? ::dlsym(library, function) : nullptr;
  if (found == nullptr) return nullptr;
  return reinterpret_cast<const Table* (*)(std::uint32_t)>(found)(version);
}

struct AddressRange {
  std::uintptr_t begin = 0, end = 0;
  const char* name = ""; // the loader's name of the library's file; valid while it is loaded
  bool holds(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= begin && at < end;
  }
};
// From the first to the last segment of the library around an address; empty when there is none.
// Does not wait for threads that load a library.
AddressRange library_around(const void* address);

// The C library's, behind ours (fork.cpp).
using RegisterAtFork = int(void (*prepare)(), void (*parent)(), void (*child)(), void* library);
extern constinit Next<RegisterAtFork> next_register_atfork;

// Null: not found.
void* library_function(const char* name);

inline std::size_t page() { // bytes
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Finds the OpenMP runtime behind us, and offers a foreign one to libomptier.so (openmp.cpp).
void find_openmp_runtime();

} // namespace omptier::preload
