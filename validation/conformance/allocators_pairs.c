// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// allocators_pairs BYTES COUNT: a block in DRAM is allocated and freed so many times in pairs(), after
// some that are not counted. For allocators_cost.py.
#include <omp.h>
#include <ompx_memory.h>
#include <stdlib.h>

__attribute__((noinline)) static int pairs(size_t bytes, long count) {
  for (; count > 0; --count) {
    char* volatile block = omp_alloc(bytes, ompx_dram_mem_alloc);
    if (block == NULL) return 0;
    *block = 1;
    omp_free(block, ompx_dram_mem_alloc);
  }
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const size_t bytes = strtoull(argv[1], NULL, 10);
  for (int i = 0; i < 8; ++i)
    omp_free(omp_alloc(bytes, ompx_dram_mem_alloc), ompx_dram_mem_alloc);
  return pairs(bytes, atol(argv[2])) ? 0 : 1;
}
