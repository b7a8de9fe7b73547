// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two loops of very different speed over different arrays, with counted accesses: one reads `quick`
// in order, the other waits for each link of a chain and reads `late` beside it. Prints how often
// each array was accessed and in how many seconds.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { k_many = 4 << 20, k_few = 1 << 20, k_passes = 20 };

static double seconds_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

__attribute__((noinline)) static double read_quick(const double* quick) {
  double sum = 0;
  __asm__ volatile("" ::: "memory"); // each pass is made
  for (size_t i = 0; i < k_many; ++i)
    sum += quick[i];
  return sum;
}

__attribute__((noinline)) static double read_late(const double* late, const unsigned* chain) {
  double sum = 0;
  unsigned at = 0;
  __asm__ volatile("" ::: "memory");
  for (size_t i = 0; i < k_few; ++i) {
    at = chain[at];
    sum += late[i];
  }
  return sum + at;
}

int main(void) {
  const double begin = seconds_of(CLOCK_MONOTONIC);
  double* quick = malloc(k_many * sizeof *quick);
  double* late = malloc(k_few * sizeof *late);
  unsigned* chain = malloc(k_many * sizeof *chain);
  for (unsigned i = 0; i < k_many; ++i) {
    quick[i] = i;
    late[i % k_few] = i;
    chain[i] = (i * 1664525u + 1013904223u) & (k_many - 1); // one cycle through all
  }
  double sum = 0;
  unsigned long runs = 0;
  for (; seconds_of(CLOCK_THREAD_CPUTIME_ID) < 1.5; ++runs) {
    for (int pass = 0; pass < k_passes; ++pass)
      sum += read_quick(quick);
    sum += read_late(late, chain);
  }
  printf("%lu %lu %g %g\n", k_passes * runs * k_many, runs * k_few,
         seconds_of(CLOCK_MONOTONIC) - begin, sum);
  return 0;
}
