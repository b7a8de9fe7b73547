/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What compilers make of allocate without a routine being called: clang's directive on a local
 * (__kmpc_alloc, __kmpc_free) and the clause on a construct, which gcc turns into GOMP_alloc and
 * GOMP_free in every thread. One thread, so that the order is fixed. */
#include <omp.h>
#include <stdio.h>

static int of_local(int n) {
#ifdef __clang__
  double values[64];
#pragma omp allocate(values) allocator(omp_default_mem_alloc)
  /* HOOK-CLANG attach
   * HOOK-CLANG allocate size=512 alignment=0 handle=1 from=program
   * HOOK-CLANG stock_allocated size=512 kept=512 handle=1 from=program
   * HOOK-CLANG release block handle=1
   * HOOK-CLANG stock_released size=512 */
#else
  double values[64];
#endif
  for (int i = 0; i < 64; i++)
    values[i] = n + i;
  return (int)values[63];
}

int main(void) {
  int total = of_local(omp_get_num_threads()), work = 7;
  /* HOOK-GCC attach */
  omp_allocator_handle_t handle = omp_default_mem_alloc; /* gcc ignores the clause for a constant */
#pragma omp parallel num_threads(1) firstprivate(work) allocate(handle : work)
  /* HOOK region_begin threads=1 from=program
   * HOOK-CLANG allocate size=4 alignment=0 handle=1 from=program
   * HOOK-CLANG stock_allocated size=4 kept=4 handle=1 from=program
   * HOOK-GCC allocate size=4 alignment=4 handle=1 from=program
   * HOOK-GCC stock_allocated size=4 kept=4 handle=1 from=program
   * HOOK release block handle=1
   * HOOK stock_released size=4
   * HOOK region_end from=program */
  {
    work += omp_get_thread_num();
#pragma omp atomic
    total += work;
  }
  printf("%d\n", total);
  /* HOOK runtime_end */
  return 0;
}
