/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The border between the patched libomp and libomptier.so.
 *
 * When libomp initialises its allocators, it loads libomptier.so from its own folder ($ORIGIN) and
 * fetches the table below once. From then on it offers every allocator call and region to
 * the table *before* it does anything of its own (before its thread look-up too). A hook that
 * returns 0 declines: libomp goes on as stock. If the library is missing, or was built for another
 * version of the table, libomp has no table and behaves as stock.
 *
 * Everything is plain C with fixed-width or pointer-sized types, so that both sides may be built by
 * different compilers. Handles and memory spaces are passed as the integers that omp.h gives them.
 * All functions are thread-safe and never throw, abort or write to stdout. No member of the table
 * is NULL but the last two (libomp refuses the table otherwise). The table stays in use for the
 * life of the process: through a shut-down and new start of the runtime, in children made by fork,
 * and after the library's own static destructors.
 */
#ifndef OMPTIER_LIBOMP_HOOKS_H
#define OMPTIER_LIBOMP_HOOKS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OMPTIER_HOOKS_VERSION 4u

/* One allocator trait as OpenMP lays it out (omp_alloctrait_t): key, then value. */
typedef struct omptier_trait {
  int32_t key;
  uintptr_t value;
} omptier_trait;

typedef struct omptier_hooks {
  uint32_t version; /* OMPTIER_HOOKS_VERSION of the library */
  uint32_t size;    /* sizeof(omptier_hooks) of the library */

  /* omp_init_allocator and __kmpc_init_allocator. Returns 1 when the space, a trait or a fallback
   * allocator is ours; *handle is then the new allocator, or 0 (omp_null_allocator) when refused.
   * Also called while OMP_ALLOCATOR is read, that is while libomp initialises, and again in a child
   * made by fork: the functions of omptier_runtime must not be used then. */
  int (*init_allocator)(uintptr_t memory_space, int trait_count, const omptier_trait* traits,
                        uintptr_t* handle);
  /* omp_destroy_allocator. Returns 1 when the handle is ours. */
  int (*destroy_allocator)(uintptr_t handle);

  /* omp_alloc, omp_aligned_alloc, __kmpc_alloc, __kmpc_aligned_alloc, GOMP_alloc. alignment in
   * bytes, 0 when the call names none. handle is what the program passed; for 0
   * (omp_null_allocator) the library calls default_allocator below, which costs libomp's thread
   * look-up. caller = return address of the OpenMP routine in the program. Returns 1 when handled;
   * *block may be NULL (null fallback). */
  int (*allocate)(size_t size, size_t alignment, uintptr_t handle, const void* caller,
                  void** block);
  /* omp_calloc, omp_aligned_calloc: count elements of size bytes, zeroed. */
  int (*allocate_zeroed)(size_t count, size_t size, size_t alignment, uintptr_t handle,
                         const void* caller, void** block);
  /* omp_realloc. Handled when block lies in our memory or handle is ours. If a block of libomp's
   * own moves into our memory, the library copies it and frees the old one through stock_free. With
   * size 0 handled when block lies in our memory or free_handle is ours. */
  int (*reallocate)(void* block, size_t size, uintptr_t handle, uintptr_t free_handle,
                    const void* caller, void** result);
  /* omp_free, __kmpc_free, GOMP_free. Returns 1 when block lies in our memory. */
  int (*release)(void* block, uintptr_t handle);

  /* After libomp itself served an allocation that no hook took (for the profiler). For a
   * reallocation: called for the new block, then stock_released for the old one. */
  void (*stock_allocated)(void* block, size_t size, uintptr_t handle, const void* caller);
  /* Before libomp itself frees such a block. */
  void (*stock_released)(void* block);

  /* OMP_DISPLAY_ENV=verbose: writes the library's lines, "name='value'" without a prefix, each
   * ended by a newline, as many as fit into size bytes with a terminating zero. Returns the
   * bytes written without that zero; 0 when nothing of ours is in use. Called while libomp
   * initialises, with the limits of init_allocator, or by omp_display_env. */
  size_t (*display)(char* text, size_t size);

  /* OMP_ALLOCATOR: text is one allocator or memory-space text of the variable. Returns the
   * number of characters parsed and sets *handle (0: refused, libomp's default memory is used),
   * or 0 when the text is not ours. Called while OMP_ALLOCATOR is read, with the limits of
   * init_allocator. */
  size_t (*parse_allocator)(const char* text, uintptr_t* handle);

  /* The primary thread is about to fork a team / has joined it. codeptr = return address of the
   * construct in the program, OMPT's codeptr_ra. thread_count = number of threads requested
   * for (num_threads clause, else the ICV); the team may be smaller. Called outside any lock of
   * libomp, before the workers are released and after they have arrived. Nested constructs are
   * regions too, each from the thread that meets it. Not called for teams constructs, nor where a
   * compiler runs a construct with a false if clause without a team. */
  void (*region_begin)(const void* codeptr, uint32_t thread_count);
  void (*region_end)(const void* codeptr);

  /* The runtime has shut down; no omp_* routine may be called from here. At the end of a process
   * this comes after the library's own static destructors; it may come more than once. */
  void (*runtime_end)(void);

  /* The same as allocate and release for the most frequent calls, arranged so that each function on
   * the path ends in a jump. A call that they decline they pass to otherwise, with the same
   * arguments, and return its result; the call is not offered again. Only a handle of ours becomes
   * 0 where a block of libomp's is freed with it. NULL in a library that has none. */
  void* (*allocate_quickly)(size_t size, size_t alignment, uintptr_t handle, const void* caller,
                            void* (*otherwise)(size_t, size_t, uintptr_t, const void*));
  void (*release_quickly)(void* block, uintptr_t handle, void (*otherwise)(void*, uintptr_t));
} omptier_hooks;

/* What libomp offers the library, which therefore needs no omp_* routines. */
typedef struct omptier_runtime {
  uint32_t version;
  uint32_t size;
  /* libomp's own allocation and free, never offered to the hooks again. Handle 0 is libomp's
   * default memory here, since the thread's default allocator may be ours. */
  void* (*stock_allocate)(size_t size, size_t alignment, uintptr_t handle);
  void (*stock_free)(void* block);
  /* Bytes that the program requested for a block of libomp's own. */
  size_t (*stock_size)(const void* block);
  /* Default allocator of the calling thread (def-allocator-var). */
  uintptr_t (*default_allocator)(void);
  /* Allocator that a block of libomp's own was taken from. */
  uintptr_t (*stock_owner)(const void* block);
  /* Scope of a pool_size with an access trait other than all: identity of the calling thread's
   * thread, team or contention group. access = omp_atv_thread, _pteam or _cgroup. Never 0. */
  uintptr_t (*scope)(uintptr_t access);
  /* From now on hook is called at each barrier, explicit or of a worksharing construct, of an
   * outermost parallel region with several threads: on the primary thread, between gather and
   * release, when all others of the team have arrived and wait, and its explicit tasks are done.
   * Teams that other threads of the program began may be running. Called by the routine that the
   * program has called. Not at a region's end, at a cancelled barrier, or in a league of teams.
   * NULL: no longer; until then a barrier costs one load and one branch more. */
  void (*call_at_barriers)(void (*hook)(void));
} omptier_runtime;

/* The one symbol that libomp looks up. runtime stays valid for the life of the process. Returns
 * NULL when the versions do not agree. Called once, while libomp initialises: no omp_* call is
 * allowed. */
const omptier_hooks* omptier_runtime_attach(uint32_t hooks_version, const omptier_runtime* runtime);

#ifdef __cplusplus
}
#endif
#endif /* OMPTIER_LIBOMP_HOOKS_H */
