/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One array of each kind of memory, all summed up equally often: statics (file-local, function-local,
 * initialised, read-only), a mapping of which the first half goes and one that grows, malloc, the stacks of main and
 * of a thread, thread-local. They take turns, so that a machine that is slow for a while is slow for all of them.
 * Prints the sums. usage: record_memory [ROUNDS] */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LENGTH = 1 << 15, BYTES = LENGTH * sizeof(double), TURNS = 120 };

static double grid[LENGTH];
double initialised[LENGTH] = {1};
static const double table[LENGTH] = {0, 1};
static __thread double per_thread[LENGTH];
static int rounds = 6000;
static pthread_barrier_t turn;

__attribute__((noinline)) static double sum_of(const double *values) {
  double sum = 0;
  for (int round = 0; round < rounds / TURNS; ++round)
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

static void fill(volatile double *array) {
  for (int i = 0; i < LENGTH; ++i)
    array[i] = 1;
}

static void *thread(void *result) {
  volatile double array[LENGTH];
  wait_for_sampling();
  fill(array);
  for (int i = 0; i < TURNS; ++i) {
    pthread_barrier_wait(&turn);
    *(double *)result += sum_of((const double *)array);
    pthread_barrier_wait(&turn);
  }
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
  volatile double array[LENGTH];
  fill(array);
  for (int i = 0; i < LENGTH; ++i)
    arena[i] = remapped[i] = block[i] = grid[i] = per_thread[i] = 1;
  const double *all[] = {grid, initialised, table, arena, remapped, block, per_thread, (const double *)array};
  enum { ALL = sizeof all / sizeof *all };
  double sums[ALL + 2] = {0};
  pthread_t other;
  pthread_barrier_init(&turn, NULL, 2);
  pthread_create(&other, NULL, thread, &sums[ALL + 1]);
  for (int i = 0; i < TURNS; ++i) {
    for (int k = 0; k < ALL; ++k)
      sums[k] += sum_of(all[k]);
    sums[ALL] += in_function();
    pthread_barrier_wait(&turn);  /* the thread's */
    pthread_barrier_wait(&turn);
  }
  pthread_join(other, NULL);
  for (int k = 0; k < ALL + 2; ++k)
    printf("%g\n", sums[k]);
  munmap(remapped, BYTES);
  return munmap(arena, BYTES);
}
