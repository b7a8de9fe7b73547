// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the pace of a loop must not be taken from. `fresh` is filled page by page for the first
// time: the kernel has most of the time. One loop sums `large`, a line each, in runs of many
// milliseconds, and `little`, in cache and in runs of some microseconds, several times faster.
// Prints how often each array was accessed and in how many seconds.
//
// usage: record_rates_runs TIMES    (how much longer runs over fresh and large are)
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { k_step = 16, k_little = 1 << 12, k_passes = 3000 };

static double seconds_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

__attribute__((noinline)) static void fill(double* fresh, size_t count) {
  for (size_t i = 0; i < count; ++i)
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

int main(int count, char** arguments) {
  const size_t times = count > 1 ? strtoul(arguments[1], NULL, 10) : 1;
  const size_t in_fresh = times << 23, in_large = times << 25;
  const double begin = seconds_of(CLOCK_MONOTONIC);
  // Present, by no access of ours: that would be few samples of many bytes.
  unsigned* large = mmap(NULL, in_large * sizeof *large, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  unsigned* little = malloc(k_little * sizeof *little);
  if (large == MAP_FAILED) return 1;
  for (unsigned i = 0; i < k_little; ++i)
    little[i] = i;
  unsigned long runs = 0;
  unsigned total = 0;
  for (; seconds_of(CLOCK_THREAD_CPUTIME_ID) < 2.4; ++runs) {
    double* fresh = mmap(NULL, in_fresh * sizeof *fresh, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) return 1;
    madvise(fresh, in_fresh * sizeof *fresh, MADV_NOHUGEPAGE);
    fill(fresh, in_fresh);
    total += (unsigned)fresh[7];
    munmap(fresh, in_fresh * sizeof *fresh);
    total += sum(large, in_large, k_step);
    for (int pass = 0; pass < k_passes; ++pass)
      total += sum(little, k_little, 1);
  }
  printf("%lu %lu %lu %g %u\n", runs * in_fresh, runs * (in_large / k_step),
         runs * k_passes * k_little + k_little, seconds_of(CLOCK_MONOTONIC) - begin, total);
  return 0;
}
