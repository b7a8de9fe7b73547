/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * allocate_directive: a local array in a memory kind, by clang's allocate directive (gcc 12 has
 * none). No call is needed, and the memory is freed when the function returns.
 * clang-19 -fopenmp -I include allocate_directive.c -o allocate_directive
 */
#include <omp.h>
#include <ompx_memory.h>
#include <stdio.h>

static double mean_of_squares(int n) {
  double sum = 0;
  double squares[n];
#pragma omp allocate(squares) allocator(ompx_hbm_mem_alloc)
#pragma omp parallel for
  for (int i = 0; i < n; ++i)
    squares[i] = (double)i * i;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < n; ++i)
    sum += squares[i];
  return sum / n;
}

int main(void) {
  printf("mean %.1f\n", mean_of_squares(100001));
  return 0;
}
