// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the benchmarks of the virtual machine: memory on a given NUMA node, a clock, medians. A
// failure ends the program with one line and status 1.
#pragma once

#include <errno.h>
#include <numaif.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static inline void give_up(const char* what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static inline double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

enum { k_huge_page = 2 << 20 };

// size bytes (a multiple of 2 MiB) on the node, touched, and verified with the kernel's page query.
static inline void* memory_on(int node, size_t size, int huge) {
  char* raw =
      mmap(NULL, size + k_huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) give_up("mmap");
  char* memory = (char*)(((uintptr_t)raw + k_huge_page - 1) & ~(uintptr_t)(k_huge_page - 1));
  madvise(memory, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  unsigned long nodes = 1ul << node;
  if (mbind(memory, size, MPOL_PREFERRED, &nodes, 64, 0)) give_up("mbind");
  memset(memory, 1, size);
  void* pages[] = {memory, memory + size / 2, memory + size - 1};
  int where[3];
  if (move_pages(0, 3, pages, NULL, where, 0)) give_up("move_pages");
  for (int i = 0; i < 3; i++)
    if (where[i] != node) {
      fprintf(stderr, "wanted memory on node %d, got it on %d\n", node, where[i]);
      exit(1);
    }
  return memory;
}

static int compare_doubles(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static inline double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare_doubles);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static inline double least(const double* values, int count) {
  double least = values[0];
  for (int i = 1; i < count; i++)
    if (values[i] < least) least = values[i];
  return least;
}

// The threads of OpenMP regions exist afterwards.
static inline void start_team(void) {
#pragma omp parallel
  __asm__ volatile("");
}

// A random generator, good enough to select array elements.
static inline uint64_t next_random(uint64_t* state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}
