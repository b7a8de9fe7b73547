// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The malloc that the program would have without us: glibc's, or an allocator that it links or
// preloads behind us. Initially each pointer leads to a function that looks all of them up. That
// may itself allocate (dlsym's messages): such blocks come from a small buffer and are never freed.
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

// False if a function is missing, or if blocks of the buffer exist, which only we may free.
bool find_next_malloc();

// Keeps what was found: from now on a look-up may find our own functions.
void keep_next_malloc();

// By a test: every block has glibc's word before it (size and flags); none is of the buffer.
bool next_malloc_has_headers();

// False if it has no malloc_usable_size of its own: the C library's would misread its blocks.
bool next_malloc_knows_sizes();

// A block of the buffer: freeing it does nothing, its size is unknown.
bool is_early_block(const void* block);
// Bytes of the buffer in use from there on; the block is no larger.
std::size_t early_bytes_from(const void* block);

} // namespace omptier::preload
