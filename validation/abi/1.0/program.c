/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program of the first release: every function, structure and trait of its header. */
#include "ompx_memory.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                      \
      return 1;                                                                                    \
    }                                                                                              \
  } while (0)

int main(void) {
  omp_alloctrait_t traits[] = {
      {ompx_atk_access_pattern, ompx_atv_access_pattern_strided},
      {ompx_atk_access_stride, 256},
      {ompx_atk_access_mode, ompx_atv_access_mode_read_mostly},
      {ompx_atk_access_frequency, 1000000},
      {ompx_atk_access_origin, ompx_atv_access_origin_multiple_threads},
      {ompx_atk_importance, 300},
      {ompx_atk_sensitivity, ompx_atv_sensitivity_bandwidth},
      {ompx_atk_placement, ompx_atv_placement_preferred},
      {ompx_atk_lifetime, ompx_atv_lifetime_program},
      {ompx_atk_group, ompx_name("group")},
      {ompx_atk_label, ompx_name("label")},
      {ompx_atk_migratable, omp_atv_true},
  };
  const omp_memspace_handle_t spaces[] = {ompx_auto_mem_space, ompx_dram_mem_space,
                                          ompx_hbm_mem_space, ompx_nvm_mem_space,
                                          ompx_cxl_mem_space};
  const omp_allocator_handle_t allocators[] = {ompx_auto_mem_alloc, ompx_dram_mem_alloc,
                                               ompx_hbm_mem_alloc, ompx_nvm_mem_alloc,
                                               ompx_cxl_mem_alloc};
  CHECK(ompx_name("label") == ompx_name("label") && ompx_name("no label") == 0);
  CHECK(ompx_phase("first") == 0);
  for (int i = 0; i < 5; ++i) {
    omp_allocator_handle_t own = omp_init_allocator(spaces[i], 12, traits);
    CHECK(own != omp_null_allocator);
    char *block = (char *)omp_alloc(1 << 20, own);
    char *other = (char *)omp_alloc(1 << 20, allocators[i]);
    CHECK(block != NULL && other != NULL);
    memset(block, 1, 1 << 20);
    memset(other, 1, 1 << 20);
    ompx_placement_t where;
    memset(&where, 0, sizeof where);
    where.struct_size = sizeof where;
    CHECK(ompx_get_placement(block, 0, &where) == 0);
    CHECK(where.block_bytes == 1 << 20 && where.untouched == 0 && where.reason[0] != '\0');
    size_t there = where.unqueried;
    for (int kind = ompx_kind_dram; kind <= ompx_kind_unknown; ++kind)
      there += where.bytes[kind];
    CHECK(there == 1 << 20);
    CHECK(ompx_get_placement(NULL, 0, &where) == -1);
    omp_free(block, own);
    omp_free(other, allocators[i]);
    omp_destroy_allocator(own);
  }
  CHECK(ompx_dump(STDERR_FILENO) == 0 && ompx_phase(NULL) == 0);
  puts("a program of the first release runs");
  return 0;
}
