/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The border between libomptier_preload.so, which intercepts the program's malloc, and
 * libomptier.so, which places blocks. The preload library loads libomptier.so from its own folder
 * if there is a plan or a strategy (or the program calls an OpenMP allocator on a runtime that is
 * not ours), and fetches the table below once. Plain C for the reasons given in libomp_hooks.h; all
 * functions are thread-safe, never throw, and stay valid for the life of the process.
 *
 * malloc calls of the library itself come back to the preload library, which passes them on to the
 * program's malloc while a thread is inside one of these functions.
 */
#ifndef OMPTIER_BORDERS_MALLOC_PLACEMENT_H
#define OMPTIER_BORDERS_MALLOC_PLACEMENT_H

#include "borders/call_words.h"
#include "borders/libomp_hooks.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OMPTIER_MALLOC_VERSION 4u

/* What the environment requests: bits of omptier_malloc.wants. */
#define OMPTIER_MALLOC_PLACES 1u /* a plan or strategy: offer blocks to allocate */
#define OMPTIER_MALLOC_LISTS 2u  /* an observer: report blocks by allocated and released */

/* Blocks under this size are small. */
#define OMPTIER_MALLOC_LEAST_LARGE 65536u

/* What the plan says of a call of malloc for small blocks. */
typedef struct omptier_small_call {
  uintptr_t handle;         /* for allocate_small; 0: the plan does not place them */
  uintptr_t rest;           /* the same, for those that handle does not get */
  uint32_t share;           /* of 2^32 blocks, how many rest gets; 0: handle gets all */
  size_t least;             /* bytes of the smallest block that is placed */
  int never;                /* no entry has a call with this return address */
  int never_two;            /* nor with the two innermost ones, the first a library's */
  omptier_call_words words; /* count is 0: the call cannot be recognised by its words */
} omptier_small_call;

typedef struct omptier_malloc {
  uint32_t version; /* OMPTIER_MALLOC_VERSION */
  uint32_t size;    /* sizeof(omptier_malloc) */
  uint32_t wants;
  /* The OpenMP allocator calls, for a runtime that does not attach by itself. */
  const omptier_hooks* openmp;

  /* Returns 1 and the block when the plan names the call's site, or a strategy places it, and there
   * is room; else 0, and the program's malloc serves it. alignment: power of two, or 0. caller:
   * return address of malloc. */
  int (*allocate)(size_t bytes, size_t alignment, int zeroed, const void* caller, void** block);
  /* Resizes a block of ours; *result is never NULL. Returns 0 when the program's malloc must
   * serve the new size (the block is then untouched). Copies and frees the old block when it
   * moves. */
  int (*reallocate)(void* block, size_t bytes, const void* caller, void** result);
  /* Returns 1 when the block lies in our memory. */
  int (*release)(void* block);
  /* Bytes requested; 0 when no block of ours begins at the address. Takes no lock. */
  size_t (*size_of)(const void* block);

  /* Bytes of the smallest blocks that the plan places; OMPTIER_MALLOC_LEAST_LARGE: no small ones.
   */
  size_t (*least)(void);
  /* They stay with the program's malloc after all: says so. why: a clause. */
  void (*small_blocks_stay)(const char* why);
  /* Decides on the small blocks of a call. caller: return address of malloc. */
  void (*small_call)(const void* caller, omptier_small_call* decided);
  /* A block from the calling thread's magazines; what is missing there is otherwise's to serve.
   * bytes: at least 1, small. alignment: power of two, or 0. */
  void* (*allocate_small_quickly)(size_t bytes, size_t alignment, uintptr_t handle,
                                  const void* caller,
                                  void* (*otherwise)(size_t, size_t, uintptr_t, const void*));
  /* NULL when there is no room. bounds: [0], [1]: every small block of ours lies between these. */
  void* (*allocate_small)(size_t bytes, size_t alignment, uintptr_t handle, const void* caller,
                          uintptr_t* bounds);
  /* The small block goes into the calling thread's magazine; else otherwise decides. */
  void (*release_small_quickly)(void* block, void (*otherwise)(void*));
  /* Returns 1 if the block of ours has room for so many bytes where it is. */
  int (*resize_in_place)(void* block, size_t bytes);

  /* The program's malloc served a block / is about to free one. */
  void (*allocated)(const void* block, size_t bytes, const void* caller);
  void (*released)(const void* block);

  /* Before main: the plan's statics are placed. */
  void (*start)(void);
  /* At the end of the process. */
  void (*end)(void);
  /* The OpenMP runtime is not ours: runtime stands in for libomp's table (valid for the life of the
   * process). From here on the members of openmp may be called. */
  void (*attach)(const omptier_runtime* runtime);
  /* The allocator for that runtime to free its own block with: 0 in place of one of ours, which the
   * runtime would use as a pointer. */
  uintptr_t (*stock_handle)(uintptr_t handle);
} omptier_malloc;

/* The one symbol that the preload library looks up. NULL when the versions do not agree. */
const omptier_malloc* omptier_malloc_attach(uint32_t version);

#ifdef __cplusplus
}
#endif
#endif /* OMPTIER_BORDERS_MALLOC_PLACEMENT_H */
