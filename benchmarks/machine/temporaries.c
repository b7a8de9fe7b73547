// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// temporaries FIELD TEMPORARY SWEEPS STEPS: an unmodified program with an array that stays (FIELD
// MiB) and one that each of STEPS steps allocates, writes, reads and frees (TEMPORARY MiB). A step
// also reads the field SWEEPS times. The kernel clears what malloc hands out anew, which the
// program does not see. Prints guest seconds and page faults per step, both without the first step,
// and the guest seconds of the whole run.
#include "guest_memory.h"

#include <omp.h>
#include <sys/resource.h>

static double* allocate(size_t count) {
  double* array = malloc(count * sizeof *array);
  if (!array) give_up("malloc");
  return array;
}

static long page_faults(void) {
  struct rusage used;
  if (getrusage(RUSAGE_SELF, &used)) give_up("getrusage");
  return used.ru_minflt;
}

static double sum_of(const double* array, size_t count) {
  double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (size_t i = 0; i < count; i++)
    sum += array[i];
  return sum;
}

static void fill(double* array, size_t count, double value) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < count; i++)
    array[i] = value;
}

static double step(const double* field, size_t field_count, size_t count, int sweeps) {
  double* temporary = allocate(count);
  fill(temporary, count, 0.5);
  double sum = sum_of(temporary, count);
  for (int i = 0; i < sweeps; i++)
    sum += sum_of(field, field_count);
  free(temporary);
  return sum;
}

int main(int argc, char** argv) {
  const int sweeps = argc == 5 ? atoi(argv[3]) : -1, steps = argc == 5 ? atoi(argv[4]) : 0;
  const size_t mebi = (1 << 20) / sizeof(double);
  const size_t field_count = argc == 5 ? (size_t)atoi(argv[1]) * mebi : 0;
  const size_t count = argc == 5 ? (size_t)atoi(argv[2]) * mebi : 0;
  if (field_count == 0 || count == 0 || sweeps < 0 || steps < 1) {
    fprintf(stderr, "usage: temporaries FIELD TEMPORARY SWEEPS STEPS (MiB, MiB, …)\n");
    return 2;
  }
  const double begin = seconds_now();
  double* field = allocate(field_count);
  fill(field, field_count, 1);
  double sum = step(field, field_count, count, sweeps);
  const long faults = page_faults();
  const double start = seconds_now();
  for (int i = 0; i < steps; i++)
    sum += step(field, field_count, count, sweeps);
  const double end = seconds_now();
  printf("seconds %.4f faults %.0f whole %.4f\n", (end - start) / steps,
         (double)(page_faults() - faults) / steps, end - begin);
  free(field);
  return sum == 0;
}
