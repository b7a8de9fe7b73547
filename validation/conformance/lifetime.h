// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lifetime cases share. A case runs in a process of its own, started by lifetime_cases.c
// with stdout and stderr caught: it must end by itself, print nothing on stdout, and warn exactly
// as its row of the table says. Figures go to stderr as lines "figure: ...".
#pragma once

#include <omp.h>
#include <ompx_memory.h>
#include <stddef.h>
#include <stdint.h>

struct lifetime_case {
  const char* name;
  void (*run)(void);     // inside the process; returns or exits 0 when the case holds
  void (*prepare)(void); // in the process before it is executed anew, or NULL
  const char* warning;   // the one warning it must give (a part of its text), or NULL: none
};

extern const struct lifetime_case fork_cases[], end_cases[], limit_cases[], refusal_cases[];

// Ends the process with status 1 and says why, without stdio.
void check(int good, const char* format, ...) __attribute__((format(printf, 2, 3)));
void figure(const char* format, ...) __attribute__((format(printf, 1, 2)));

// A block filled with a pattern of its own, to be checked later.
struct block {
  unsigned char* at;
  size_t bytes;
  unsigned seed;
};
struct block take(size_t bytes, omp_allocator_handle_t allocator, unsigned seed);
void verify(const struct block* block);
void give(struct block* block);

// Some of everything the allocator routines do, with every byte checked; about 10 ms.
void exercise(unsigned seed);
// Without libomp's own memory, which cannot be used once libomp ends, unpatched too.
void exercise_ours(unsigned seed);
// The same from threads of an OpenMP team.
void exercise_team(void);

double seconds(void);
unsigned count_mappings(void);
// Waits for a child, which must end with status 0.
void await(int child, const char* what);
const char* own_path(void);
