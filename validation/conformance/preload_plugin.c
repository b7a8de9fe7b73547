/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program without OpenMP that asks OMPTier for something, and only then loads a plugin, which brings an
 * OpenMP runtime of its own along: an allocator of ours must not reach that runtime.
 * usage: preload_plugin PLUGIN. Built twice, with -DPLUGIN -fopenmp as the plugin. */
#define _GNU_SOURCE
#include "ompx_memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef PLUGIN
int use_memory(void) {
  const size_t bytes = 1 << 20;
  int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
  threads += 1;
  char* block = omp_alloc(bytes, ompx_dram_mem_alloc);
  if (block == NULL || threads != 2) return 1;
  memset(block, 1, bytes);
  ompx_placement_t placement = {.struct_size = sizeof placement};
  int (*get)(const void*, size_t, ompx_placement_t*) =
      (int (*)(const void*, size_t, ompx_placement_t*))dlsym(RTLD_DEFAULT, "ompx_get_placement");
  const int result = get(block, 0, &placement);
  omp_free(block, ompx_dram_mem_alloc);
  return result != 0 || placement.block_bytes != bytes || !placement.required;
}
#else
int main(int argc, char** argv) {
  omp_uintptr_t (*name)(const char*) = (omp_uintptr_t(*)(const char*))dlsym(RTLD_DEFAULT, "ompx_name");
  if (argc < 2 || name == NULL || name("early") == 0) return 2;
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) return fprintf(stderr, "%s\n", dlerror()), 3;
  int (*use)(void) = (int (*)(void))dlsym(plugin, "use_memory");
  const int result = use();
  printf("%s\n", result == 0 ? "placed" : "not ours");
  return result;
}
#endif
