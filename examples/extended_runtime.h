/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * For examples that run on any OpenMP runtime and use OMPTier's functions where they are present.
 * They are looked up at run time, because a program linked against libomptier does not start
 * without it. (A program that requires OMPTier simply links -lomptier and calls them.)
 */
#ifndef EXAMPLES_EXTENDED_RUNTIME_H
#define EXAMPLES_EXTENDED_RUNTIME_H

#include <dlfcn.h>
#include <omp.h>
#include <stddef.h>

/* A function of ompx_memory.h by name; NULL if this OpenMP runtime is not OMPTier's. */
static inline void* extended_runtime_function(const char* name) {
  void* function = dlsym(RTLD_DEFAULT, name);
  void* library;
  if (function != NULL) return function;
  (void)omp_get_max_threads(); /* the runtime loads libomptier when it initialises itself */
  library = dlopen("libomptier.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return NULL;
  function = dlsym(library, name);
  dlclose(library); /* drops our reference; the runtime keeps its own */
  return function;
}

#endif
