// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program's mmap, munmap and mremap, reported to the recorder.
#pragma once

#include <cstddef>
#include <sys/types.h>

namespace omptier::preload {

struct NextMmap {
  void* (*mmap)(void*, std::size_t, int, int, int, off_t);
  int (*munmap)(void*, std::size_t);
  void* (*mremap)(void*, std::size_t, std::size_t, int, ...);
};
// The C library's, or those of the next library that intercepts them.
NextMmap next_mmap();

// Called before recording starts: calls then go to next_mmap's functions, and mappings of the
// library that serves malloc are not reported.
void watch_mappings();

} // namespace omptier::preload
