// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mappings: one that calls which fail leave as it is, one that is made again where another was
// unmapped behind everybody's back, and COUNT that come and go. Then a thread of C11's reads an
// array for SECONDS of its CPU time.
//
// usage: record_capacity_mappings COUNT SECONDS
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { bytes = 1 << 20, small = 8192, passes = 64 };

static __attribute__((noinline)) char* map(char* where, size_t size) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (where != NULL ? MAP_FIXED : 0);
  char* mapped = mmap(where, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  __asm__ volatile("" : "+r"(mapped));
  return mapped;
}

static int reads(void* seconds) {
  uint64_t* hot = malloc(bytes);
  memset(hot, 1, bytes);
  uint64_t sum = 0;
  struct timespec now;
  do {
    for (int pass = 0; pass < passes; ++pass)
      for (size_t i = 0; i < bytes / sizeof *hot; ++i)
        sum += ((volatile uint64_t*)hot)[i];
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec < *(double*)seconds);
  free(hot);
  return (int)(sum & 1);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  char* kept = map(NULL, bytes);
  if (munmap(kept + 1, 4096) == 0 || errno != EINVAL) return 3;
  if (mremap(kept, bytes, (size_t)1 << 46, MREMAP_MAYMOVE) != MAP_FAILED) return 4;
  char* first = map(NULL, 3 * (size_t)bytes);
  char* again = first;
  for (int i = 0; i < 10; ++i) {
    syscall(SYS_munmap, again, 3 * (size_t)bytes);
    again = map(again, 3 * (size_t)bytes);
  }
  for (long i = 0; i < atol(argv[1]); ++i) {
    char* passing = map(NULL, small);
    passing[0] = 1;
    if (munmap(passing, small) != 0) return 5;
  }
  double seconds = atof(argv[2]);
  thrd_t thread;
  int result = 0;
  if (thrd_create(&thread, reads, &seconds) != thrd_success ||
      thrd_join(thread, &result) != thrd_success)
    return 6;
  return kept == NULL || again != first || result > 1;
}
