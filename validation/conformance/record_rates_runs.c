// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the pace of a loop must not be taken from. `fresh` is filled page by page for the first
// time: the kernel has most of the time. One loop sums `large`, a line each, in runs of many
// milliseconds, and `little`, in cache and in runs of some microseconds, several times faster.
// Prints how often each array was accessed and in how many seconds.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { k_fresh = 2 << 20, k_large = 16 << 20, k_step = 16, k_little = 1 << 12, k_passes = 3000 };

static double seconds_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

__attribute__((noinline)) static void fill(double* fresh) {
  for (size_t i = 0; i < k_fresh; ++i)
    fresh[i] = (double)(i ^ 3);
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static unsigned sum(const unsigned* numbers, size_t count, size_t step) {
  unsigned sum = 0;
  __asm__ volatile("" ::: "memory");
  for (size_t i = 0; i < count; i += step)
    sum += numbers[i];
  return sum;
}

int main(void) {
  const double begin = seconds_of(CLOCK_MONOTONIC);
  unsigned* large = malloc(k_large * sizeof *large);
  unsigned* little = malloc(k_little * sizeof *little);
  for (unsigned i = 0; i < k_large; ++i)
    large[i] = i, little[i % k_little] = i;
  unsigned long runs = 0;
  unsigned total = 0;
  for (; seconds_of(CLOCK_THREAD_CPUTIME_ID) < 1.8; ++runs) {
    double* fresh = mmap(NULL, k_fresh * sizeof *fresh, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) return 1;
    madvise(fresh, k_fresh * sizeof *fresh, MADV_NOHUGEPAGE);
    fill(fresh);
    total += (unsigned)fresh[7];
    munmap(fresh, k_fresh * sizeof *fresh);
    total += sum(large, k_large, k_step);
    for (int pass = 0; pass < k_passes; ++pass)
      total += sum(little, k_little, 1);
  }
  printf("%lu %lu %lu %g %u\n", runs * k_fresh, runs * (k_large / k_step) + k_large,
         runs * k_passes * k_little + k_large, seconds_of(CLOCK_MONOTONIC) - begin, total);
  return 0;
}
