/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A loop whose accesses are known. omptier-cc compiles it into every program with the program's own
 * flags, so that the library can check that the compiler instruments all accesses.
 */
#include <stddef.h>

void omptier_exact_check(void (*loop)(double* to, const double* from, size_t count));

static __attribute__((noinline)) void loop(double* restrict to, const double* restrict from,
                                           size_t count) {
  for (size_t i = 0; i < count; ++i)
    to[i] += from[i];
}

/* Before the program's own constructors, whose allocations are to be recorded. */
__attribute__((constructor(101))) static void omptier_exact_check_program(void) {
  omptier_exact_check(loop);
}
