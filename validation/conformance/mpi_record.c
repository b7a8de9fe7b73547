// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that do unequal work: rank r holds (r + 1) MiB of "uneven" and sweeps it for processor time
// that grows with r; "even" is the same everywhere. mpi.py records it.
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <time.h>

static double sweep(double* array, long count, double seconds) {
  double sum = 0;
  const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
  do {
#pragma omp parallel for reduction(+ : sum)
    for (long i = 0; i < count; ++i)
      sum += array[i] += 1;
  } while (clock() < end);
  return sum;
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  long mine = (rank + 1L) << 17, common = 1L << 17;
  double* uneven = omp_alloc(mine * sizeof *uneven, omp_default_mem_alloc);
  double* even = omp_alloc(common * sizeof *even, omp_default_mem_alloc);
  for (long i = 0; i < mine; ++i)
    uneven[i] = 0;
  for (long i = 0; i < common; ++i)
    even[i] = 0;
  double sum = sweep(even, common, 0.05) + sweep(uneven, mine, 0.25 * rank);
  if (sum < 0) printf("never\n");
  printf("rank %d is done\n", rank);
  omp_free(uneven, omp_null_allocator);
  omp_free(even, omp_null_allocator);
  MPI_Finalize();
}
