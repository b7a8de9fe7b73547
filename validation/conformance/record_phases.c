// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs of one parallel region for record_phases.py: stretches between barriers, each with an
// array of its own; serial stretches before, between and after regions; phases that the program
// names; as many barriers as can be passed in a second. Built by clang and by gcc.
#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef NAMED_PHASES
#include <ompx_memory.h>
#else
static int ompx_phase(const char* name) {
  return name != NULL;
}
#endif

enum { k_words = 1 << 20 };

static uint64_t* words(void) {
  uint64_t* block = malloc(k_words * sizeof *block);
  if (block == NULL) exit(99);
  for (unsigned i = 0; i < k_words; ++i)
    block[i] = i;
  return block;
}

__attribute__((noinline)) static uint64_t walk(const uint64_t* table, unsigned steps, uint64_t at) {
  for (unsigned k = 0; k < steps; ++k)
    at = at * UINT64_C(6364136223846793005) + table[at >> 44] + 1;
  return at;
}

// The primary thread works alone: on a busy machine others may go on long before it looks at the
// clock. Most of its work is in `heavy`, whose steps
// may be several times as fast as those in `light` where the tables are in a shared cache.
__attribute__((noinline)) static uint64_t one_region(const uint64_t* heavy, const uint64_t* light,
                                                     unsigned rounds) {
  uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum) // region "one_region"
  {
    const bool works = omp_get_thread_num() == 0;
    for (unsigned i = 0; i < rounds; ++i) {
      if (works) sum += walk(heavy, 60000, i);
#pragma omp barrier // ends "heavy"
      if (works) sum += walk(light, 8000, i);
#pragma omp for schedule(static) // ends "light"
      for (int k = 0; k < 4; ++k)
        sum += walk(light, 10, (uint64_t)k << 60);
    }
  }
  return sum;
}

__attribute__((noinline)) static uint64_t other_region(const uint64_t* table, unsigned steps) {
  uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static) // region "other_region"
  for (unsigned k = 0; k < 4; ++k)
    sum += walk(table, steps, (uint64_t)k << 60);
  return sum;
}

static double seconds_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double now(void) {
  return seconds_of(CLOCK_MONOTONIC);
}

static void storm(double seconds) {
  unsigned long passed = 0;
  int go_on = 1;
#pragma omp parallel
  while (go_on) {
    for (unsigned i = 0; i < 1000; ++i) {
#pragma omp barrier
    }
#pragma omp for schedule(dynamic, 1)
    for (int k = 0; k < 1000; ++k)
#pragma omp atomic
      ++passed;
#pragma omp single
    go_on = now() < seconds;
  }
  printf("%lu barriers\n", passed);
}

int main(int count, char** arguments) {
  const char* what = count > 1 ? arguments[1] : "stretches";
  if (strcmp(what, "barriers") == 0) { // so many, for counting instructions
    const unsigned barriers = (unsigned)atoi(arguments[2]);
#pragma omp parallel
    for (unsigned i = 0; i < barriers; ++i) {
#pragma omp barrier
    }
    return 0;
  }
  if (strcmp(what, "storm") == 0) return storm(now() + 1), 0;
  uint64_t* heavy = words();
  uint64_t* light = words();
  const unsigned rounds = count > 2 ? (unsigned)atoi(arguments[2]) : 200;
  uint64_t sum = 0;
  unsigned five = 5, ten = 10; // loops for the compiler too
  __asm__ volatile("" : "+r"(five), "+r"(ten));
  if (strcmp(what, "stretches") == 0) sum = one_region(heavy, light, rounds);
  if (strcmp(what, "serial") == 0)
    for (unsigned i = 0; i < five; ++i) {
      sum += other_region(heavy, 1000);
      sum += walk(light, rounds * 6000, 1); // serial, from other_region to one_region
      sum += one_region(heavy, light, 1);
    }
  if (strcmp(what, "named") == 0) {
    // Of processor time, as samples are: steps may take three times as long where others use the
    // caches.
    const double begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    ompx_phase("first");
    for (unsigned i = 0; i < ten; ++i)
      sum += other_region(heavy, rounds * 1500);
    const double between = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    ompx_phase("second");
    for (unsigned i = 0; i < ten; ++i)
      sum += other_region(light, rounds * 500);
    ompx_phase(NULL);
    const double end = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    fprintf(stderr, "first %.3f\n", (between - begin) / (end - begin));
  }
  printf("sum %016llx\n", (unsigned long long)sum);
  free(light);
  free(heavy);
  return 0;
}
