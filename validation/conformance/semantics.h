// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame of the semantics programs: a table of named cases, each run in a process of its own, so
// that one that crashes or waits for ever is reported by its name and the others go on. Nothing of
// OpenMP is used before a case has started: it may still set the environment that the runtime
// reads.
//
//     semantics_X [kind=node …] [case …]
//
// No case named: all whose memory kinds were named. Exit 0: all of them hold.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "allocators_cases.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define MIB ((size_t)1 << 20)

typedef struct semantics_case {
  const char* name;
  void (*run)(void);
  int kinds; // what the machine must have, of the bits below
} semantics_case;

enum { k_dram = 1, k_hbm = 2, k_nvm = 4, k_cxl = 8 };
enum { k_several = 16, k_missing = 32 }; // some kind with several nodes; some kind not there

// ---- what a case checks with

static inline omp_allocator_handle_t make(omp_memspace_handle_t space, int count,
                                          const omp_alloctrait_t* traits) {
  return omp_init_allocator(space, count, (omp_alloctrait_t*)traits);
}

static inline ompx_placement_t placement_of(const void* block) {
  ompx_placement_t placement;
  memset(&placement, 0, sizeof placement);
  placement.struct_size = sizeof placement;
  check(ompx_get_placement(block, 0, &placement) == 0, "no block of ours at %p", block);
  return placement;
}

// A block in placed memory, as against memory of the runtime itself.
static inline int is_placed(const void* block) {
  ompx_placement_t placement;
  memset(&placement, 0, sizeof placement);
  placement.struct_size = sizeof placement;
  return ompx_get_placement(block, 0, &placement) == 0 &&
         strstr(placement.reason, "fallback") == NULL &&
         strstr(placement.reason, "runtime's default memory") == NULL;
}

static inline int aligned_to(const void* block, size_t alignment) {
  return block != NULL && (uintptr_t)block % alignment == 0;
}

static inline void fill(void* block, size_t bytes, unsigned seed) {
  unsigned char* at = (unsigned char*)block;
  for (size_t i = 0; i < bytes; ++i)
    at[i] = (unsigned char)(i * 31 + (i >> 8) + seed);
}

static inline int holds(const void* block, size_t bytes, unsigned seed) {
  const unsigned char* at = (const unsigned char*)block;
  for (size_t i = 0; i < bytes; ++i)
    if (at[i] != (unsigned char)(i * 31 + (i >> 8) + seed)) return 0;
  return 1;
}

static inline int all_zero(const void* block, size_t bytes) {
  const unsigned char* at = (const unsigned char*)block;
  for (size_t i = 0; i < bytes; ++i)
    if (at[i] != 0) return 0;
  return 1;
}

// A number of /proc/self/status, such as "VmLck:", in bytes.
static inline size_t status_bytes(const char* name) {
  char line[256];
  size_t found = 0;
  FILE* file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, name, strlen(name)) == 0)
      found = strtoull(line + strlen(name), NULL, 10) * 1024;
  if (file != NULL) fclose(file);
  return found;
}

// What is written to stderr between the two calls.
static int stderr_kept = -1, stderr_file = -1;
static char stderr_text[1 << 16];
static inline void catch_stderr(void) {
  fflush(stderr);
  stderr_kept = dup(2);
  stderr_file = (int)syscall(SYS_memfd_create, "stderr", 0);
  check(stderr_kept >= 0 && stderr_file >= 0 && dup2(stderr_file, 2) == 2, "stderr");
}
static inline const char* caught_stderr(void) {
  fflush(stderr);
  dup2(stderr_kept, 2);
  close(stderr_kept);
  const ssize_t length = pread(stderr_file, stderr_text, sizeof stderr_text - 1, 0);
  stderr_text[length > 0 ? length : 0] = '\0';
  close(stderr_file);
  return stderr_text;
}
static inline int count_of(const char* text, const char* part) {
  int count = 0;
  for (const char* at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
    ++count;
  return count;
}

// Status of a child that runs the function (and ends with what it returns).
static inline int status_of_child(int (*run)(void)) {
  const pid_t child = fork();
  if (child == 0) _exit(run());
  int status = -1;
  check(waitpid(child, &status, 0) == child, "waitpid");
  return status;
}

// ---- running them

static inline int run_case(const semantics_case* chosen) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(40);
    checks = 0;
    chosen->run();
    if (checks == 0) _exit(3); // a case that checks nothing is none
    _exit(0);
  }
  int status = -1;
  if (waitpid(child, &status, 0) != child) return 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 1;
  if (WIFSIGNALED(status))
    fprintf(stderr, "FAILED %s: signal %d\n", chosen->name, WTERMSIG(status));
  else
    fprintf(stderr, "FAILED %s: status %d\n", chosen->name, WEXITSTATUS(status));
  return 0;
}

static inline int run_cases(const semantics_case* cases, size_t count, int argc, char** argv) {
  unsetenv("KMP_WARNINGS"); // set to 1, libomp complains of its message catalogue
  read_nodes(argc - 1, argv + 1);
  int have = 0, named = 0, run = 0, failed = 0, without = 0;
  for (int kind = 0; kind < 4; ++kind)
    have |= node_of[kind] < 0                              ? k_missing
            : (nodes_of[kind] & (nodes_of[kind] - 1)) != 0 ? 1 << kind | k_several
                                                           : 1 << kind;
  for (int i = 1; i < argc; ++i)
    named += strchr(argv[i], '=') == NULL;
  for (size_t at = 0; at < count; ++at) {
    int wanted = named == 0;
    for (int i = 1; i < argc; ++i)
      wanted |= strcmp(argv[i], cases[at].name) == 0;
    if (!wanted) continue;
    if ((cases[at].kinds & ~have) != 0) {
      // Not of this machine; named, it fails.
      without += 1;
      failed += named != 0;
      continue;
    }
    ++run;
    failed += !run_case(&cases[at]);
  }
  printf("%d cases hold, %d fail, %d need other kinds of memory\n", run - failed, failed, without);
  return failed == 0 && run > 0 ? 0 : 1;
}
