/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One array of each kind of memory, all summed up equally often: statics (file-local, function-local,
 * initialised, read-only), a mapping of which the first half goes and one that grows, malloc, the stacks of main and
 * of a thread, thread-local. Prints the sums. usage: record_memory [ROUNDS] */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LENGTH = 1 << 15, BYTES = LENGTH * sizeof(double) };

static double grid[LENGTH];
double initialised[LENGTH] = {1};
static const double table[LENGTH] = {0, 1};
static __thread double per_thread[LENGTH];
static int rounds = 1500;

__attribute__((noinline)) static double sum_of(const double *values) {
  double sum = 0;
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < LENGTH; ++i)
      sum += values[i];
  return sum;
}

static double in_function(void) {
  static double local[LENGTH];
  local[rounds % LENGTH] = 1;
  return sum_of(local);
}

/* A thread is sampled from the recorder's next look on: until then it waits, on a busy machine too. */
static void wait_for_sampling(void) {
  usleep(300000);
}

static void *on_stack(void *result) {
  volatile double array[LENGTH];
  wait_for_sampling();
  for (int i = 0; i < LENGTH; ++i)
    array[i] = 1;
  *(double *)result = sum_of((const double *)array);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc > 1) rounds = atoi(argv[1]);
  wait_for_sampling();
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  double *arena = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
  double *remapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (arena == MAP_FAILED || munmap(arena, BYTES) != 0) return 1;
  arena += LENGTH;
  remapped = mremap(remapped, 4096, BYTES, MREMAP_MAYMOVE);
  if (remapped == MAP_FAILED) return 1;
  double *block = malloc(BYTES);
  for (int i = 0; i < LENGTH; ++i)
    arena[i] = remapped[i] = block[i] = grid[i] = per_thread[i] = 1;
  double sums[2];
  on_stack(&sums[0]);
  pthread_t thread;
  pthread_create(&thread, NULL, on_stack, &sums[1]);
  pthread_join(thread, NULL);
  printf("%g %g %g %g %g %g %g %g %g %g\n", sum_of(grid), sum_of(initialised), sum_of(table), in_function(),
         sum_of(arena), sum_of(remapped), sum_of(block), sum_of(per_thread), sums[0], sums[1]);
  munmap(remapped, BYTES);
  return munmap(arena, BYTES);
}
