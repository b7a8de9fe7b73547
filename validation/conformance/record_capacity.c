// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With STACKS (up to 8^6): so many blocks of 5000 B come and go, each from its own call stack. Else
// much at once: THREADS threads that run together, LIVE blocks of 8 KiB that stay, and ALLOCATIONS
// blocks from 64 B to 100 KB that come and go while one array is read. Prints its peak memory on
// stderr.
//
// usage: record_capacity THREADS LIVE ALLOCATIONS | record_capacity STACKS
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { hot_words = 1 << 17 }; // 1 MiB, read all the time
static uint64_t* hot;
static long each_live, each_allocations;
static pthread_barrier_t together;
static void* first; // thread's

static __attribute__((noinline)) void* stays(void) {
  return malloc(8192);
}
// Large ones on one thread alone: how far the heap itself grows would hang on the threads' timing.
static __attribute__((noinline)) void comes_and_goes(long i, int large) {
  static const size_t sizes[] = {64, 5000, 64, 12000, 64, 8000, 64, 5000};
  char* volatile block = malloc(i % 8 == 7 && large ? 100000 : sizes[i % 8]);
  block[0] = 1;
  free(block);
}

static void* work(void* kept) {
  void** blocks = kept;
  pthread_barrier_wait(&together);
  for (long i = 0; i < each_live; ++i)
    blocks[i] = stays();
  uint64_t sum = 0;
  for (long i = 0; i < each_allocations; ++i) {
    comes_and_goes(i, kept == first);
    for (int k = 0; k < 8; ++k)
      sum += hot[(i * 64 + k * 8) % hot_words];
  }
  pthread_barrier_wait(&together);
  for (long i = 0; i < each_live; ++i)
    free(blocks[i]);
  return (void*)(uintptr_t)sum;
}

// One of 8 calls a level; the compiler is not to make one call of them.
static __attribute__((noinline)) void descend(long way, int depth) {
#define CALL(k)                                                                                    \
  case k:                                                                                          \
    descend(way / 8, depth - 1);                                                                   \
    __asm__ volatile("" ::"i"(k));                                                                 \
    break;
  if (depth == 0) {
    comes_and_goes(1, 0);
    __asm__ volatile("");
    return;
  }
  switch (way % 8) { CALL(0) CALL(1) CALL(2) CALL(3) CALL(4) CALL(5) CALL(6) CALL(7) }
}

// Not getrusage's, which knows of the process that became this one.
static int say_peak(void) {
  char line[256];
  long peak = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (sscanf(line, "VmHWM: %ld", &peak) == 1) break;
  fprintf(stderr, "peak %ld KiB\n", peak);
  return peak == 0;
}

int main(int argc, char** argv) {
  if (argc == 2) {
    for (long i = 0; i < atol(argv[1]); ++i)
      descend(i, 6);
    return say_peak();
  }
  if (argc < 4) return 2;
  const long threads = atol(argv[1]);
  each_live = atol(argv[2]) / threads;
  each_allocations = atol(argv[3]) / threads;
  hot = malloc(hot_words * sizeof *hot);
  for (int i = 0; i < hot_words; ++i)
    hot[i] = (uint64_t)i;
  void** blocks = malloc((size_t)(threads * each_live + 1) * sizeof *blocks);
  first = blocks;
  pthread_t* all = malloc((size_t)threads * sizeof *all);
  pthread_barrier_init(&together, NULL, (unsigned)threads);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  for (long t = 0; t < threads; ++t)
    if (pthread_create(&all[t], &attributes, work, blocks + t * each_live) != 0) return 3;
  for (long t = 0; t < threads; ++t)
    pthread_join(all[t], NULL);
  return say_peak();
}
