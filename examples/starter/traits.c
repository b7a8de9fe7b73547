/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * traits: describe how data is used, and get memory that suits it.
 * clang-19 -fopenmp -I include traits.c -o traits
 */
#include <omp.h>
#include <ompx_memory.h>
#include <stdio.h>

int main(void) {
  omp_alloctrait_t traits[] = {{ompx_atk_access_pattern, ompx_atv_access_pattern_random},
                               {ompx_atk_access_mode, ompx_atv_access_mode_read_mostly},
                               {ompx_atk_importance, 800}}; /* per mille of the memory time */
  omp_allocator_handle_t hot = omp_init_allocator(ompx_auto_mem_space, 3, traits);
  if (hot == omp_null_allocator) return fputs("traits: not OMPTier's runtime\n", stderr), 1;

  enum { n = 1 << 20 };
  long sum = 0, *table = omp_alloc(n * sizeof *table, hot);
#pragma omp parallel for
  for (long i = 0; i < n; ++i)
    table[i] = i;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < n; ++i)
    sum += table[(unsigned long)i * 0x9e3779b1u % n];
  printf("sum %ld\n", sum);
  omp_free(table, hot);
  omp_destroy_allocator(hot);
  return 0;
}
