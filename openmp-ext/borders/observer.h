/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reports from libomptier.so to the profiler (libomptier_ompt.so): which objects come and go. The
 * profiler attaches one table; from then on every block that the runtime hands out, from our memory
 * or from libomp's own, is reported. The functions are called on the allocating thread, outside our
 * locks; they must not call OpenMP routines and must not allocate with omp_alloc.
 */
#ifndef OMPTIER_BORDERS_OBSERVER_H
#define OMPTIER_BORDERS_OBSERVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OMPTIER_OBSERVER_VERSION 2u

typedef struct omptier_observer {
  uint32_t version; /* OMPTIER_OBSERVER_VERSION */
  uint32_t size;    /* sizeof(omptier_observer) */
  /* A block is now live. caller: return address of the OpenMP routine in the program (innermost
   * frame). */
  void (*allocated)(const void* block, size_t bytes, uintptr_t allocator, const void* caller);
  /* The block is about to be freed (called before its memory can be reused). */
  void (*released)(const void* block);
  /* The program named a phase (ompx_phase). */
  void (*phase)(const char* name);
  /* Pages of [address, address + bytes) were moved, in so many seconds: for the region that begins
   * next, or at a barrier of the one that runs. */
  void (*moved)(const void* address, size_t bytes, unsigned from_kind, unsigned to_kind,
                double seconds, int at_barrier);
} omptier_observer;

/* Attaches (or, with NULL, detaches) the one observer. Returns 0, or -1 when another is attached or
 * the version is unknown. Blocks already live are reported at once. Thread-safe. */
int omptier_observe(const omptier_observer* observer);

#ifdef __cplusplus
}
#endif
#endif /* OMPTIER_BORDERS_OBSERVER_H */
