// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame of the semantics programs: a table of named cases, each run in a process of its own, so
// that one that crashes or waits for ever is reported by its name and the others go on. Nothing of
// OpenMP is used before a case has started: it may still set the environment that the runtime
// reads.
//
//     semantics_X [kind=node …] [on=kind] [space=kind …] [times] [case …]
//
// No case named: all whose memory kinds were named, less those named with a "-" before them.
// "on" is the kind that cases take where one is as good as another (DRAM if not said); a standard
// space's kind, such as high_bw=hbm, is what the machine's table makes it; "times" says how long
// each case took.
// Exit 0: all of them hold.
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
#include <time.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define MIB ((size_t)1 << 20)

typedef struct semantics_case {
  const char* name;
  void (*run)(void);
  int kinds; // what the machine must have, of the bits below
} semantics_case;

enum { k_dram = 1, k_hbm = 2, k_nvm = 4, k_cxl = 8 };
enum { k_several = 16, k_missing = 32 }; // some kind with several nodes; some kind not there
enum { k_other = 64 };                   // some kind beside DRAM

static int case_arguments; // those of main
static char** case_argument;

// ---- which memory

static int here_kind = ompx_kind_dram;
#define here_number ((omp_uintptr_t)ompx_dram_mem_alloc + (omp_uintptr_t)here_kind)
#define here_alloc ((omp_allocator_handle_t)here_number)
#define here_space ((omp_memspace_handle_t)here_number) // the spaces have the same numbers

static const char* const kind_names[] = {"dram", "hbm", "nvm", "cxl"};
// What the standard spaces are here, in the order of their numbers from large_cap on; −1: not said.
static const char* const standard_names[] = {"large_cap", "const", "high_bw", "low_lat"};
static int standard_kinds[4] = {-1, -1, -1, -1};
static inline int kind_named(const char* name) {
  for (int kind = 0; kind < 4; ++kind)
    if (strcmp(kind_names[kind], name) == 0) return kind;
  return -1;
}

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

// A block in placed memory, as against memory of the runtime itself. What is said to be in a kind
// of memory is there by the kernel's word.
static inline int is_placed(const void* block) {
  ompx_placement_t placement;
  memset(&placement, 0, sizeof placement);
  placement.struct_size = sizeof placement;
  if (ompx_get_placement(block, 0, &placement) != 0 ||
      strstr(placement.reason, "fallback") != NULL ||
      strstr(placement.reason, "runtime's default memory") != NULL)
    return 0;
  for (int kind = 0; kind < 4; ++kind)
    if (node_of[kind] >= 0)
      check(bytes_on_kind(block, placement.block_bytes, kind) == placement.bytes[kind],
            "%zu of %zu bytes are said to be in %s, the kernel knows better", placement.bytes[kind],
            placement.block_bytes, kind_names[kind]);
  if (placement.required && placement.wanted_kind >= 0 && strstr(placement.reason, "plan") == NULL)
    check(placement.bytes[placement.wanted_kind] == placement.block_bytes, "%zu of %zu bytes in %s",
          placement.bytes[placement.wanted_kind], placement.block_bytes,
          kind_names[placement.wanted_kind]);
  return 1;
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

// A process that ends by _exit or a signal leaves libomp's registration behind.
static inline void forget_process(pid_t process) {
  char name[80];
  snprintf(name, sizeof name, "/dev/shm/__KMP_REGISTERED_LIB_%d_%d", (int)process, (int)getuid());
  unlink(name);
}

// Status of a child that runs the function (and ends with what it returns).
static inline int status_of_child(int (*run)(void)) {
  const pid_t child = fork();
  if (child == 0) _exit(run());
  int status = -1;
  check(waitpid(child, &status, 0) == child, "waitpid");
  forget_process(child);
  return status;
}

// ---- running them

static inline int run_case(const semantics_case* chosen) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(120); // in the machine, on a busy host, some take a minute
    checks = 0;
    chosen->run();
    if (checks == 0) _exit(3); // a case that checks nothing is none
    _exit(0);
  }
  int status = -1;
  if (waitpid(child, &status, 0) != child) return 0;
  forget_process(child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 1;
  if (WIFSIGNALED(status))
    fprintf(stderr, "FAILED %s: signal %d\n", chosen->name, WTERMSIG(status));
  else
    fprintf(stderr, "FAILED %s: status %d\n", chosen->name, WEXITSTATUS(status));
  return 0;
}

static inline int run_cases(const semantics_case* cases, size_t count, int argc, char** argv) {
  unsetenv("KMP_WARNINGS"); // set to 1, libomp complains of its message catalogue
  case_arguments = argc, case_argument = argv;
  read_nodes(argc - 1, argv + 1);
  int have = 0, named = 0, run = 0, failed = 0, without = 0, times = 0;
  for (int kind = 0; kind < 4; ++kind)
    have |= node_of[kind] < 0                              ? k_missing
            : (nodes_of[kind] & (nodes_of[kind] - 1)) != 0 ? 1 << kind | k_several
                                                           : 1 << kind;
  if ((have & (k_hbm | k_nvm | k_cxl)) != 0) have |= k_other;
  for (int i = 1; i < argc; ++i)
    named += strchr(argv[i], '=') == NULL && argv[i][0] != '-';
  for (int i = 1; i < argc; ++i) {
    times |= strcmp(argv[i], "times") == 0;
    named -= strcmp(argv[i], "times") == 0;
    for (int space = 0; space < 4; ++space)
      if (strncmp(argv[i], standard_names[space], strlen(standard_names[space])) == 0)
        standard_kinds[space] = kind_named(argv[i] + strlen(standard_names[space]) + 1);
    if (strncmp(argv[i], "on=", 3) == 0 && (here_kind = kind_named(argv[i] + 3)) < 0) return 2;
    if (strchr(argv[i], '=') != NULL || strcmp(argv[i], "times") == 0) continue;
    int known = 0;
    for (size_t at = 0; at < count; ++at)
      known |= strcmp(argv[i] + (argv[i][0] == '-'), cases[at].name) == 0;
    if (!known) return fprintf(stderr, "no case %s\n", argv[i]), 2;
  }
  for (size_t at = 0; at < count; ++at) {
    int wanted = named == 0;
    for (int i = 1; i < argc; ++i)
      wanted |= strcmp(argv[i], cases[at].name) == 0;
    for (int i = 1; i < argc; ++i)
      wanted &= argv[i][0] != '-' || strcmp(argv[i] + 1, cases[at].name) != 0;
    if (!wanted) continue;
    if ((cases[at].kinds & ~have) != 0) {
      // Not of this machine; named, it fails.
      without += 1;
      failed += named != 0;
      continue;
    }
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    ++run;
    failed += !run_case(&cases[at]);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (times)
      printf("%8.2f s %s\n",
             (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec),
             cases[at].name);
  }
  printf("%d cases hold, %d fail, %d need other kinds of memory\n", run - failed, failed, without);
  return failed == 0 && run > 0 ? 0 : 1;
}
