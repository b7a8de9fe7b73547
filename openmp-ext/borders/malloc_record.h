/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The border between libomptier_preload.so, which intercepts malloc, mmap and pthread_create, and
 * libomptier_ompt.so, which records. The preload library loads the recorder from its own folder if
 * `omptier record` started the process, before main, on any OpenMP runtime or none. Plain C; all
 * functions are thread-safe, never throw, and stay valid for the life of the process. Allocations
 * of the recorder's threads, and of threads inside one of these functions, are not reported.
 */
#ifndef OMPTIER_BORDERS_MALLOC_RECORD_H
#define OMPTIER_BORDERS_MALLOC_RECORD_H

#include "borders/call_words.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OMPTIER_MALLOC_RECORD_VERSION 4u

/* Where in a small block an address lies. */
typedef struct omptier_small_place {
  uint32_t site;
  uint32_t bytes;  /* room of the block */
  uint32_t offset; /* in the block */
} omptier_small_place;

/* Small blocks of a site, from its first span on. */
typedef struct omptier_small_counts {
  uint32_t site;
  uint32_t largest;        /* bytes asked for */
  uint64_t objects, bytes; /* allocated, bytes as asked for */
  uint64_t live, peak;     /* bytes; peak: most since the counts before */
} omptier_small_counts;

/* The preload library's small blocks by site: blocks of up to 16 KiB of some calls come from spans
 * of 64 KiB that are their site's alone. Those from 4 KiB on are not reported one by one then. */
typedef struct omptier_small_spans {
  /* From now on that call is served so. 0: there is no room for more calls. */
  int (*serve)(const omptier_call_words* call);
  /* 1: at that time (CLOCK_MONOTONIC, ns) the address lay in a span of a site. -1: in a span, but
   * of no site of this process (a forked child has its parent's). 0: in none. */
  int (*find)(uint64_t address, uint64_t time, omptier_small_place* place);
  /* Visits the counts of each site that is served. */
  void (*counts)(void (*visit)(void* argument, const omptier_small_counts* counts), void* argument);
} omptier_small_spans;

typedef struct omptier_malloc_record {
  uint32_t version; /* OMPTIER_MALLOC_RECORD_VERSION */
  uint32_t size;    /* sizeof(omptier_malloc_record) */

  /* Starts recording. 0 when nothing will be recorded; a warning was printed. spans: null where
   * small blocks cannot be served by site. */
  int (*start)(const omptier_small_spans* spans);
  /* At the end of the process: writes the last samples and closes the log. */
  void (*end)(void);

  /* A malloc block of at least 4 KiB, outside of spans, is live / is about to be freed. caller:
   * return address of malloc in the program. */
  void (*allocated)(const void* block, size_t bytes, const void* caller);
  void (*released)(const void* block);
  /* One block under 4 KiB, which stands for stands_for blocks like it. */
  void (*small)(const void* block, size_t bytes, const void* caller, uint32_t stands_for);

  /* The program has mapped [address, address + bytes), whole pages, replacing what was there / has
   * unmapped it, or any part of a mapping. Other threads may map the addresses again before the
   * unmapping is reported: before = mappings_reported() at a moment when they were still in use. */
  uint64_t (*mappings_reported)(void);
  void (*mapped)(const void* address, size_t bytes, const void* caller);
  void (*unmapped)(const void* address, size_t bytes, uint64_t before);

  /* Called on each thread of the program at its begin (a second call does nothing) and end; for the
   * first thread, start is the begin. */
  void (*thread_begin)(void);
  void (*thread_end)(void);

  /* libomptier.so places blocks from now on, or answers OpenMP's allocator routines: its blocks are
   * objects too. */
  void (*runtime_attached)(void);

  /* From a runtime without OMPT. A parallel region begins, on the thread that meets it; codeptr:
   * the construct's return address. Returns what to pass at its end, on the same thread. */
  uint64_t (*region_begin)(const void* codeptr, unsigned threads);
  void (*region_end)(uint64_t region);
  /* A thread leaves a barrier of its team. */
  void (*barrier_passed)(const void* codeptr);

  /* The program queries a signal's action (taken 0), or is about to change it (1). 0: go on. 1: the
   * recorder uses the signal; the program gets the default action, which is restored when it takes
   * the signal. May be called in signal handlers: no lock, no allocation, never waits. */
  int (*signal_asked)(int number, int taken);
} omptier_malloc_record;

/* The one symbol that the preload library looks up. NULL when the versions do not agree, or the
 * process is privileged. */
const omptier_malloc_record* omptier_malloc_record_attach(uint32_t version);

#ifdef __cplusplus
}
#endif
#endif /* OMPTIER_BORDERS_MALLOC_RECORD_H */
