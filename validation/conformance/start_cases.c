// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs whose start is looked at by start.py: start_cases hello|space|hwloc.
//   hello   a parallel region
//   space   and an allocation in a space of OMPTier's, by which the platform is discovered
//   hwloc   and a topology of the program's own after that, in an environment that is untouched
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char** environ;

static int wrong(const char* what) {
  fprintf(stderr, "start_cases: %s\n", what);
  return 1;
}

// The topology is made through pointers: the program itself needs no hwloc to start.
static int own_topology(void) {
  void* library = dlopen("libhwloc.so.15", RTLD_NOW);
  if (library == NULL) return wrong(dlerror());
  int (*init)(void**) = (int (*)(void**))dlsym(library, "hwloc_topology_init");
  void (*destroy)(void*) = (void (*)(void*))dlsym(library, "hwloc_topology_destroy");
  void* topology = NULL;
  if (init == NULL || destroy == NULL || init(&topology) != 0) return wrong("no topology");
  destroy(topology);
  return 0;
}

int main(int count, char** arguments) {
  const char* mode = count > 1 ? arguments[1] : "hello";
  char** before = environ;
  const char* first = environ[0];
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  threads += 1;
  if (strcmp(mode, "hello") != 0) {
    void* block = omp_alloc(64, (omp_allocator_handle_t)501); // ompx_dram_mem_alloc
    if (block == NULL) return wrong("nothing was allocated");
    omp_free(block, (omp_allocator_handle_t)501);
    if (environ != before || environ[0] != first) return wrong("the environment was changed");
  }
  if (strcmp(mode, "hwloc") == 0 && own_topology() != 0) return 1;
  return threads > 0 ? 0 : wrong("no threads");
}
