// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The malloc that the program would have without us: glibc's, or whatever allocator it links or
// preloads behind us. One pointer a function; until the first call each points to a function that
// looks all of them up. That look-up may itself allocate (dlsym's messages): such blocks come from
// a small buffer and are never freed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omptier::preload {

struct NextMalloc {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void* (*reallocarray)(void*, std::size_t, std::size_t);
  void (*free)(void*);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  std::size_t (*malloc_usable_size)(void*);
};
extern __attribute__((visibility("hidden"))) NextMalloc g_next;

// All of them are looked up. False when not all are there, or blocks of the buffer are about, which
// no malloc but ours may free.
bool find_next_malloc();

// Tried: every block has glibc's word before it, its size and three flags, and none is of the
// buffer.
bool next_malloc_has_headers();

// False: a malloc that brings no malloc_usable_size, and the one that was found, the C library's,
// would read what is none of its blocks.
bool next_malloc_knows_sizes();

// A block of the buffer: freeing it does nothing, its size is not known.
bool is_early_block(const void* block);
// Bytes of the buffer in use from there on: no block is larger.
std::size_t early_bytes_from(const void* block);

} // namespace omptier::preload
