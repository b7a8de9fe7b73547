/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The border between libomptier_preload.so, which stands in front of malloc, mmap and pthread_create, and
 * libomptier_ompt.so, which records. The preload library loads the recorder from beside itself when
 * `omptier record` started the process, before main, on any OpenMP runtime or none. Plain C; all
 * functions are thread-safe, never throw, and stay valid for the life of the process. While a thread is
 * inside one of them, or is the recorder's own, its allocations are told to nobody.
 */
#ifndef OMPTIER_OBJECTS_MALLOC_RECORD_H
#define OMPTIER_OBJECTS_MALLOC_RECORD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OMPTIER_MALLOC_RECORD_VERSION 3u

typedef struct omptier_malloc_record {
  uint32_t version; /* OMPTIER_MALLOC_RECORD_VERSION */
  uint32_t size;    /* sizeof(omptier_malloc_record) */

  /* Starts recording. 0 when nothing will be recorded: a warning has been given. */
  int (*start)(void);
  /* At the end of the process: the last samples, the log is closed. */
  void (*end)(void);

  /* A block of malloc's of at least 4 KiB is live / is about to go. caller: return
   * address of malloc in the program. */
  void (*allocated)(const void* block, size_t bytes, const void* caller);
  void (*released)(const void* block);
  /* One block under 4 KiB, standing for so many like it. */
  void (*small)(const void* block, size_t bytes, const void* caller, uint32_t stands_for);

  /* The program has mapped [address, address + bytes), whole pages, instead of whatever was there / has
   * unmapped it, any part of what was mapped. Other threads may have been given the addresses before
   * that is told: before = mappings_told() at a moment when they were still in use. */
  uint64_t (*mappings_told)(void);
  void (*mapped)(const void* address, size_t bytes, const void* caller);
  void (*unmapped)(const void* address, size_t bytes, uint64_t before);

  /* On a thread of the program's, at its begin (a second call does nothing) and end; the first one's
   * begin is start. */
  void (*thread_begin)(void);
  void (*thread_end)(void);

  /* libomptier.so answers OpenMP's allocator routines from now on: its blocks are objects too. */
  void (*runtime_attached)(void);

  /* From a runtime without OMPT. A parallel region begins, of the construct that returns to codeptr,
   * on the thread that meets it; returns what to give back at its end, on the same thread. */
  uint64_t (*region_begin)(const void* codeptr, unsigned threads);
  void (*region_end)(uint64_t region);
  /* A thread leaves a barrier of its team. */
  void (*barrier_passed)(const void* codeptr);

  /* The program asks for a signal's action (taken 0), or is about to change it (1). 0: go on. 1: the
   * signal is recording's; what the program is to find is the default action, which is restored when
   * it takes the signal. May be called in signal handlers: takes no lock and no memory, never waits. */
  int (*signal_asked)(int number, int taken);
} omptier_malloc_record;

/* The one symbol that the preload library looks up. NULL when the versions do not agree, or the process
 * is privileged. */
const omptier_malloc_record* omptier_malloc_record_attach(uint32_t version);

#ifdef __cplusplus
}
#endif
#endif /* OMPTIER_OBJECTS_MALLOC_RECORD_H */
