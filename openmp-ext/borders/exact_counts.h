/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Between libomptier_exact.so, which a program built by omptier-cc calls at every access to memory,
 * and the profiler, which registers objects there and reads the counts. Declarations only, in C;
 * both sides include it. Times are CLOCK_MONOTONIC nanoseconds.
 */
#ifndef OMPTIER_BORDERS_EXACT_COUNTS_H
#define OMPTIER_BORDERS_EXACT_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OMPTIER_EXACT_VERSION 2u
#define OMPTIER_EXACT_STRIDES 8u

/* Distance in bytes between two successive accesses of one instruction and thread to an object. */
typedef struct omptier_exact_stride {
  int64_t bytes;
  uint64_t count;
} omptier_exact_stride;

/* What one instruction of one thread did to one object since the last drain. Strides count from the
 * beginning. */
typedef struct omptier_exact_counts {
  uint64_t time;    /* when object and region were last looked up */
  uint64_t pc;      /* return address of the callback: just after the access */
  uint64_t address; /* the last one accessed */
  uint64_t object;  /* as given to object_begin; 0 = none */
  uint64_t accesses;
  uint64_t bytes;
  uint64_t chases;        /* accesses through a pointer that was itself loaded through one */
  uint64_t other_strides; /* accesses whose stride is in none of strides */
  omptier_exact_stride strides[OMPTIER_EXACT_STRIDES]; /* count 0 = unused */
  uint32_t thread;                                     /* kernel id */
  uint32_t store;                                      /* 0 load, 1 store */
} omptier_exact_counts;

/* One access, for a consumer of the whole stream. */
typedef struct omptier_exact_access {
  uint64_t pc, address, bytes;
  uint64_t store; /* 0 load, 1 store */
} omptier_exact_access;

typedef struct omptier_exact {
  uint32_t version; /* OMPTIER_EXACT_VERSION */
  uint32_t size;    /* sizeof(omptier_exact) */
  /* Starts counting. Returns NULL, or why it cannot (one line of static text). */
  const char* (*begin)(void);
  void (*end)(void);
  /* A block is live from now on, or is about to be freed. Any thread; takes a lock. */
  void (*object_begin)(uint64_t address, uint64_t bytes, uint64_t object);
  void (*object_end)(uint64_t address);
  /* A region begins or ends: later accesses are counted apart from earlier ones. */
  void (*region)(uint64_t region);
  /* Hands out what was counted since the last call. One thread at a time. Returns the number of
   * accesses since then that could not be assigned to instruction and object: tables were full. */
  uint64_t (*drain)(void (*take)(void* taker, const omptier_exact_counts* counts), void* taker);
  /* After fork, in the child: forgets all counts. */
  void (*forked_child)(void);
  /* The whole stream, a few thousand accesses of one thread at a time, called on that thread; NULL
   * ends it. What a thread still holds then is handed over when the thread ends. */
  void (*consume)(void (*take)(void* taker, uint32_t thread, const omptier_exact_access* first,
                               size_t count),
                  void* taker);
  /* Calls ready once, on the thread that loads the program, when its check (below) has run: begin
   * refuses before. At once if it has. One function; a second call replaces it. */
  void (*when_checked)(void (*ready)(void));
} omptier_exact;

/* The one table of a process, or NULL when the version is unknown. */
__attribute__((visibility("default"))) const omptier_exact* omptier_exact_table(uint32_t version);

/* Runs a loop of known accesses, to[i] += from[i], compiled with the program's flags (check.c), and
 * checks that every byte was counted: instrumentation that skips wide vectors or the store after a
 * load would give wrong shares. Called when the program is loaded. */
__attribute__((visibility("default"))) void
omptier_exact_check(void (*loop)(double* to, const double* from, size_t count));

#ifdef __cplusplus
}
#endif
#endif /* OMPTIER_BORDERS_EXACT_COUNTS_H */
