// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the programs in the manner of the NAS Parallel Benchmarks (D. Bailey et al., "The NAS
// Parallel Benchmarks", RNR-94-007, 1994): arrays in groups, the NUMA node of each group from the
// command line, the time of the main phase. Each prints its seconds, then the bytes of each group.
#pragma once

#include "borders/model_marks.h"
#include "machine/guest_memory.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>

enum { k_most_groups = 4, k_line = 64, k_stagger = 103 * k_line };

struct groups {
  int count, node[k_most_groups], arrays;
  size_t bytes[k_most_groups];
};

static inline struct groups groups_of(int count, char** arguments, int groups) {
  struct groups read = {.count = groups};
  char* rest = count == 2 ? arguments[1] : "";
  for (int group = 0; group < groups; group++) {
    char* end = rest;
    read.node[group] = (int)strtol(rest, &end, 10);
    if (end == rest || *end != (group + 1 < groups ? ',' : 0)) {
      fprintf(stderr, "usage: %s NODE,… (%d groups of arrays)\n", arguments[0], groups);
      exit(2);
    }
    rest = end + 1;
  }
  omptier_model_off();
  return read;
}

// An array of zeros in the group. Arrays begin at different places of a page, as those of a heap
// do: else their elements of one index would share a few places of a cache.
static inline void* array_in(struct groups* groups, int group, size_t bytes) {
  const size_t skipped = (size_t)(groups->arrays++ % 16) * k_stagger;
  const size_t whole = (bytes + skipped + k_huge_page - 1) / k_huge_page * k_huge_page;
  char* memory = memory_on(groups->node[group], whole, 1);
  memset(memory, 0, whole);
  groups->bytes[group] += bytes;
  return memory + skipped;
}

static inline double begin_main(void) {
  start_team();
  omptier_model_reset();
  omptier_model_on();
  return seconds_now();
}

static inline double end_main(double begin) {
  const double took = seconds_now() - begin;
  omptier_model_off();
  return took;
}

// Returns the program's status.
static inline int report(const struct groups* groups, const char* program, double took,
                         bool is_right) {
  if (!is_right) {
    fprintf(stderr, "%s: wrong result\n", program);
    return 1;
  }
  printf("%.6f", took);
  for (int group = 0; group < groups->count; group++)
    printf(" %zu", groups->bytes[group]);
  printf("\n");
  return 0;
}
