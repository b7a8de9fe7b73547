/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loops whose bytes are known by counting on paper; built by omptier-cc at -O3 with wide vectors.
 * Every array has 2^16 elements of 8 bytes; ROUNDS passes over each.
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1 << 16, ROUNDS = 20 };

static double* array(const char* what) {
  (void)what;
  return omp_alloc(COUNT * sizeof(double), omp_default_mem_alloc);
}

/* Loads b and c once, stores a once. */
__attribute__((noinline)) static void triad(double* restrict a, const double* restrict b,
                                            const double* restrict c) {
#pragma omp parallel for
  for (int i = 0; i < COUNT; ++i)
    a[i] = b[i] + 3 * c[i];
}

/* Loads index (8 bytes) and bins, stores bins. */
__attribute__((noinline)) static void histogram(double* restrict bins,
                                                const uint64_t* restrict index) {
  for (int i = 0; i < COUNT; ++i)
    bins[index[i]] += 1;
}

/* A ring of nodes of 64 bytes in the memory of `bins`. */
__attribute__((noinline)) static void** chase(void** node, int steps) {
  while (steps-- > 0)
    node = *node;
  return node;
}

int main(void) {
  double* a = omp_alloc(COUNT * sizeof(double), omp_default_mem_alloc);
  double* b = omp_alloc(COUNT * sizeof(double), omp_default_mem_alloc);
  double* c = omp_alloc(COUNT * sizeof(double), omp_default_mem_alloc);
  double* bins = array("bins");
  uint64_t* index = omp_alloc(COUNT * sizeof(uint64_t), omp_default_mem_alloc);
  void** ring = omp_alloc(COUNT * sizeof(double), omp_default_mem_alloc);
  /* Filled by the C library, whose accesses are not counted: qsort's and memcpy's insides. */
  FILE* zero = fopen("/dev/zero", "r");
  char* all[] = {(char*)a, (char*)b, (char*)c, (char*)bins, (char*)index, (char*)ring};
  for (unsigned i = 0; i < 6; ++i)
    if (fread(all[i], 1, COUNT * sizeof(double), zero) != COUNT * sizeof(double)) return 3;
  fclose(zero);
  for (int i = 0; i < COUNT; i += 8) /* one store of 8 bytes in 64 */
    ring[i] = &ring[(i + 8 * 1021) & (COUNT - 1)];
  for (int round = 0; round < ROUNDS; ++round) {
    triad(a, b, c);
    histogram(bins, index);
    ring = chase(ring, COUNT / 8);
  }
  char* copy = omp_alloc(COUNT * sizeof(double), omp_default_mem_alloc);
  memcpy(copy, a, COUNT * sizeof(double)); /* loads a, stores copy, once */
  printf("%g %g\n", bins[0], ((double*)copy)[COUNT - 1]);
  /* An object where another one was: counted apart. */
  omp_free(copy, omp_default_mem_alloc);
  double* again = omp_alloc(COUNT * sizeof(double), omp_default_mem_alloc);
  for (int i = 0; i < COUNT; ++i)
    again[i] = i;
  printf("%g\n", again[COUNT - 1]);
  return 0;
}
