/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Uses an allocator of OMPTier; fails on a runtime that is not OMPTier's. */
#include <ompx_memory.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  omp_alloctrait_t traits[] = {{ompx_atk_lifetime, ompx_atv_lifetime_program},
                               {ompx_atk_label, ompx_name("downstream")}};
  omp_allocator_handle_t allocator = omp_init_allocator(ompx_dram_mem_space, 2, traits);
  char *block = (char *)omp_alloc(1 << 20, allocator);
  ompx_placement_t where;
  memset(&where, 0, sizeof where);
  where.struct_size = sizeof where;
  if (block == NULL || ompx_get_placement(block, 0, &where) != 0) return 1;
  memset(block, 1, 1 << 20);
  printf("%s\n", where.reason);
  omp_free(block, allocator);
  return where.block_bytes == 1 << 20 && where.required == 1 ? 0 : 1;
}
