/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What gcc 12 looks for in the node GOMP_5.1: the error directive and a scope with a task
 * reduction. */
#include <omp.h>
#include <stdio.h>

int main(void) {
  int total = 0;
#pragma omp error at(execution) severity(warning) message("a warning that the test expects")
  /* HOOK attach */
#pragma omp parallel num_threads(2) /* HOOK region_begin threads=2 from=program */
#pragma omp scope reduction(task, + : total)
  {
#pragma omp task in_reduction(+ : total)
    total += 1 + omp_get_num_threads();
  }
  /* HOOK barrier
   * HOOK barrier
   * (of the reduction's tasks and the scope)
   * HOOK region_end from=program
   * HOOK runtime_end */
  printf("%d\n", total);
  return 0;
}
