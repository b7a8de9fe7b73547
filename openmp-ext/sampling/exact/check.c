/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compiled and linked into every program by omptier-cc, with the program's own flags: a loop whose
 * accesses are known, so that the library can see whether the compiler instruments all of them.
 */
#include <stddef.h>

void omptier_exact_check(void (*loop)(double* to, const double* from, size_t count));

static __attribute__((noinline)) void loop(double* restrict to, const double* restrict from,
                                           size_t count) {
  for (size_t i = 0; i < count; ++i)
    to[i] += from[i];
}

__attribute__((constructor)) static void omptier_exact_check_program(void) {
  omptier_exact_check(loop);
}
