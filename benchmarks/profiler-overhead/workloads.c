// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fixed amounts of work, for overhead.py:
//
//   workloads memory ROUNDS          random reads and writes in 256 MiB
//   workloads compute ROUNDS         arithmetic in registers
//   workloads allocate PAIRS WORK    malloc and free, WORK steps of arithmetic and of use between
//   workloads steps COUNT WORK       time steps of a code with short regions and temporaries
//   workloads barriers COUNT         barriers of one region
//   workloads regions COUNT          empty regions
//   workloads nothing
//
// allocate: each thread keeps 64 blocks of 16 to 527 bytes, one in 1000 of 8 KiB. Prints the
// seconds of the work, and the CPU time of a helper thread named "omptier", if there is one.
//
// steps: each takes ten temporaries of 100 KiB and gives them back, and has one region with five
// barriers: gathers from WORK neighbours of each cell in 128 MiB, stencils, sums and a scatter.
// overhead.py chooses WORK for a thousand regions, ten thousand allocations a second.
#define _GNU_SOURCE
#include <dirent.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static uint64_t memory(long rounds) {
  const size_t words = (size_t)1 << 25;
  uint64_t* table = malloc(words * sizeof *table);
  if (table == NULL) exit(99);
  uint64_t sum = 0;
#pragma omp parallel for
  for (size_t i = 0; i < words; ++i)
    table[i] = i;
#pragma omp parallel reduction(+ : sum)
  {
    uint64_t state = 88172645463325252u + (unsigned)omp_get_thread_num();
    for (long i = 0; i < rounds; ++i) {
      const uint64_t at = next(&state);
      sum += table[at >> 39];
      if (i % 4 == 0) table[at & (words - 1)] = sum;
    }
  }
  free(table);
  return sum;
}

static uint64_t compute(long rounds) {
  uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    uint64_t state = 88172645463325252u + (unsigned)omp_get_thread_num();
    double value = 0;
    for (long i = 0; i < rounds; ++i)
      value = value * 0.999 + (double)(next(&state) >> 40);
    sum += (uint64_t)value;
  }
  return sum;
}

static uint64_t allocate(long pairs, long work) {
  uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    uint64_t state = 88172645463325252u + (unsigned)omp_get_thread_num();
    unsigned char* kept[64] = {0};
    for (long i = 0; i < pairs; ++i) {
      const uint64_t choice = next(&state);
      unsigned char** slot = &kept[choice % 64];
      free(*slot);
      const size_t bytes = i % 1000 == 0 ? 8192 : 16 + (choice >> 8) % 512;
      *slot = malloc(bytes);
      if (*slot == NULL) exit(99);
      memset(*slot, (int)choice, bytes < 64 ? bytes : 64);
      for (long k = 0; k < work; ++k)
        sum += (*slot)[next(&state) % (bytes < 64 ? bytes : 64)];
    }
    for (unsigned i = 0; i < 64; ++i)
      free(kept[i]);
  }
  return sum;
}

enum { k_cells = 12800, k_temporaries = 10 };

static void step(double* const* kept, double* field, const uint32_t* neighbour, size_t cells,
                 size_t begin, long work) {
  double *const flux = kept[0], *const slope = kept[1], *const pressure = kept[2];
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (size_t i = 0; i < k_cells; ++i) {
      double sum = 0;
      for (long k = 0; k < work; ++k)
        sum += field[neighbour[(begin + (size_t)k * k_cells + i) % cells]];
      pressure[i] = sum;
    }
#pragma omp for schedule(static)
    for (size_t i = 1; i < k_cells - 1; ++i)
      slope[i] = 0.5 * (pressure[i + 1] - pressure[i - 1]);
    for (int k = 3; k < k_temporaries; ++k) {
      double* const other = kept[k];
#pragma omp for schedule(static) nowait
      for (size_t i = 0; i < k_cells; ++i)
        other[i] = pressure[i] * slope[i] + (double)k;
    }
#pragma omp barrier
#pragma omp for schedule(static)
    for (size_t i = 0; i < k_cells; ++i) {
      double sum = 0;
      for (int k = 3; k < k_temporaries; ++k)
        sum += kept[k][i];
      flux[i] = sum;
    }
#pragma omp for schedule(static)
    for (size_t i = 0; i < k_cells; ++i)
      field[neighbour[(begin + 2 * k_cells + i) % cells]] += 1e-9 * flux[i];
  }
}

static uint64_t steps(long count, long work) {
  const size_t cells = (size_t)1 << 24;
  double* field = malloc(cells * sizeof *field);
  uint32_t* neighbour = malloc(cells * sizeof *neighbour);
  if (field == NULL || neighbour == NULL) exit(99);
  uint64_t state = 88172645463325252u;
  for (size_t i = 0; i < cells; ++i)
    neighbour[i] = (uint32_t)(next(&state) % cells);
#pragma omp parallel for
  for (size_t i = 0; i < cells; ++i)
    field[i] = 1;
  const double begin = omp_get_wtime();
  for (long i = 0; i < count; ++i) {
    double* kept[k_temporaries];
    for (int k = 0; k < k_temporaries; ++k)
      if ((kept[k] = calloc(k_cells, sizeof *kept[k])) == NULL) exit(99);
    step(kept, field, neighbour, cells, (size_t)i * k_cells % cells, work);
    for (int k = 0; k < k_temporaries; ++k)
      free(kept[k]);
  }
  fprintf(stderr, "%.0f regions a second\n", (double)count / (omp_get_wtime() - begin));
  const uint64_t sum = (uint64_t)field[0];
  free(field);
  free(neighbour);
  return sum;
}

static void barriers(long count) {
#pragma omp parallel
  for (long i = 0; i < count; ++i) {
#pragma omp barrier
  }
}

static void regions(long count) {
  for (long i = 0; i < count; ++i) {
#pragma omp parallel
    __asm__ volatile("");
  }
}

static double helper_seconds(void) {
  double nanoseconds = 0;
  DIR* tasks = opendir("/proc/self/task");
  for (struct dirent* task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.200s/comm", task->d_name);
    FILE* file = fopen(path, "r");
    if (file == NULL) continue;
    const int ours = fgets(name, sizeof name, file) != NULL && strcmp(name, "omptier\n") == 0;
    fclose(file);
    snprintf(path, sizeof path, "/proc/self/task/%.200s/schedstat", task->d_name);
    file = ours ? fopen(path, "r") : NULL;
    if (file == NULL) continue;
    if (fscanf(file, "%lf", &nanoseconds) != 1) nanoseconds = 0;
    fclose(file);
  }
  if (tasks != NULL) closedir(tasks);
  return nanoseconds * 1e-9;
}

int main(int count, char** arguments) {
  const char* what = count > 1 ? arguments[1] : "nothing";
  const long amount = count > 2 ? atol(arguments[2]) : 0;
  if (strcmp(what, "nothing") == 0) return 0;
  const double begin = omp_get_wtime();
  uint64_t sum = 0;
  if (strcmp(what, "memory") == 0)
    sum = memory(amount);
  else if (strcmp(what, "compute") == 0)
    sum = compute(amount);
  else if (strcmp(what, "allocate") == 0 && count > 3)
    sum = allocate(amount, atol(arguments[3]));
  else if (strcmp(what, "steps") == 0 && count > 3)
    sum = steps(amount, atol(arguments[3]));
  else if (strcmp(what, "barriers") == 0)
    barriers(amount);
  else if (strcmp(what, "regions") == 0)
    regions(amount);
  else
    return 2;
  const double seconds = omp_get_wtime() - begin;
  printf("%.6f %.6f %llu\n", seconds, helper_seconds(), (unsigned long long)(sum % 1000));
  return 0;
}
