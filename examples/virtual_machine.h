/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * For examples that are also run in OMPTier's virtual machine: switches its model of memory time on
 * for the part of the program that is measured. Outside that machine, or compiled without OMPTier's
 * sources beside it, both functions do nothing and say so by returning 0.
 */
#ifndef EXAMPLES_VIRTUAL_MACHINE_H
#define EXAMPLES_VIRTUAL_MACHINE_H

#if defined(__has_include)
#if __has_include("machine/guest/model.h")
#include "machine/guest/model.h"
#define EXAMPLES_HAVE_MODEL 1
#endif
#endif

static inline int model_begin(void) {
  return 0;
}
static inline void model_end(void) {}

#endif
