// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mmap, munmap and mremap of the program, told to the recorder.
#pragma once

#include <cstddef>
#include <sys/types.h>

namespace omptier::preload {

struct NextMmap {
  void* (*mmap)(void*, std::size_t, int, int, int, off_t);
  int (*munmap)(void*, std::size_t);
  void* (*mremap)(void*, std::size_t, std::size_t, int, ...);
};
// The C library's, or those of whoever stands behind us.
NextMmap next_mmap();

// Before recording starts: from now on calls go to those, and what the library that serves malloc
// maps is left out.
void watch_mappings();

} // namespace omptier::preload
