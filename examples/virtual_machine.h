/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * For examples that also run in OMPTier's virtual machine: marks the measured part of the program,
 * so that the model of memory time charges that part only. On other machines the marks are NOPs.
 * Compiled without OMPTier's sources, there are no marks, and the functions return 0.
 */
#ifndef EXAMPLES_VIRTUAL_MACHINE_H
#define EXAMPLES_VIRTUAL_MACHINE_H

#if defined(__has_include)
#if __has_include("borders/model_marks.h")
#include "borders/model_marks.h"
#define EXAMPLES_HAVE_MARKS 1
#endif
#endif

/* Both return 1 if the mark was made. */
static inline int example_measure_begin(void) {
#ifdef EXAMPLES_HAVE_MARKS
  omptier_model_on();
  return 1;
#else
  return 0;
#endif
}

static inline int example_measure_end(void) {
#ifdef EXAMPLES_HAVE_MARKS
  omptier_model_off();
  return 1;
#else
  return 0;
#endif
}

#endif
