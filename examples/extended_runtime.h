/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * For examples that run on any OpenMP runtime and use OMPTier's additions where they are present:
 * finds them at run time, because a program linked against libomptier would not start without it.
 * (A program of yours that wants OMPTier anyway just links -lomptier and calls the functions.)
 */
#ifndef EXAMPLES_EXTENDED_RUNTIME_H
#define EXAMPLES_EXTENDED_RUNTIME_H

#include <dlfcn.h>
#include <omp.h>
#include <stddef.h>

/* A function of ompx_memory.h by name; NULL: this OpenMP runtime is not OMPTier's. */
static inline void* extended_runtime_function(const char* name) {
  void* function = dlsym(RTLD_DEFAULT, name);
  void* library;
  if (function != NULL) return function;
  (void)omp_get_max_threads(); /* the runtime loads libomptier when it initialises itself */
  library = dlopen("libomptier.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return NULL;
  function = dlsym(library, name);
  dlclose(library); /* gives back our reference only; the runtime keeps its own */
  return function;
}

#endif
