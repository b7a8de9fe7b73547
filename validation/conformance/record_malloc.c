/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program that knows nothing of OMPTier: arrays from every function of malloc's family (C; C++ adds new),
 * many small blocks, threads of its own or OpenMP's. Prints what it computed, so that a recorded run can be
 * compared. usage: record_malloc [SMALL BLOCKS] */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 1 << 16 };

#ifdef OWN_MALLOC /* a program that overrides malloc: nothing of it is seen, nothing breaks */
static char heap[64 << 20];
static size_t used;
void *malloc(size_t bytes) {
  bytes = (bytes + 15) & ~(size_t)15;
  const size_t at = __atomic_fetch_add(&used, bytes + 16, __ATOMIC_RELAXED);
  if (at + bytes + 16 > sizeof heap) return NULL;
  *(size_t *)(heap + at) = bytes;
  return heap + at + 16;
}
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *block, size_t bytes) {
  char *fresh = malloc(bytes);
  if (fresh && block) memcpy(fresh, block, ((size_t *)block)[-2] < bytes ? ((size_t *)block)[-2] : bytes);
  return fresh;
}
#endif

static double *hot_malloc;

static void *work(void *argument) {
  double sum = 0;
  for (int round = 0; round < 1500; ++round)
    for (int i = 0; i < LENGTH; ++i)
      sum += hot_malloc[i];
  *(double *)argument = sum;
  return NULL;
}

int main(int argc, char **argv) {
  const long small = argc > 1 ? atol(argv[1]) : 0;
  const size_t bytes = LENGTH * sizeof(double);
  hot_malloc = malloc(bytes);
  double *by_calloc = calloc(LENGTH, sizeof(double));
  double *grown = malloc(1000);
  grown = realloc(grown, bytes);
  double *by_aligned_alloc = aligned_alloc(4096, bytes);
  void *by_posix_memalign = NULL;
  if (posix_memalign(&by_posix_memalign, 64, bytes) != 0) return 1;
  double *by_memalign = memalign(128, bytes);
  char *middle = malloc(20000);
  for (int i = 0; i < LENGTH; ++i)
    hot_malloc[i] = i;
  memset(grown, 1, bytes);

  char *kept[64] = {0};
  for (long i = 0; i < small; ++i) {
    free(kept[i & 63]);
    kept[i & 63] = malloc(40 + (i & 31));
    kept[i & 63][0] = 1;
  }

  double sums[2][16] = {{0}};
#ifdef _OPENMP
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 2; ++i)
    work(sums[i]);
#else
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i)
    pthread_create(&threads[i], NULL, work, sums[i]);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
#endif
  memset(by_calloc, 0, bytes);
  printf("%g %g %d %d\n", sums[0][0] + sums[1][0], by_calloc[7], middle != NULL,
         (uintptr_t)by_aligned_alloc % 4096 == 0 && (uintptr_t)by_posix_memalign % 64 == 0 &&
             (uintptr_t)by_memalign % 128 == 0);
  for (int i = 0; i < 64; ++i)
    free(kept[i]);
  free(by_memalign);
  free(hot_malloc);
  return 0;
}
