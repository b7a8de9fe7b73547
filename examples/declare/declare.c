/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Declare, commit, and revise: three arrays are declared with traits and committed together, so
 * that the order of allocation does not decide which one gets the fast memory. Later their roles
 * change: traits are updated and applied, and the pages move. Prints where the kernel has each
 * array; "declare [megabytes]" sets the size of the largest (64). */
#include <ompx_memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* kinds[] = {"DRAM", "HBM", "NVM", "CXL", "unknown"};

static void show(const char* name, const void* block) {
  ompx_placement_t where = {.struct_size = sizeof where};
  if (ompx_get_placement(block, 0, &where) != 0) return;
  printf("%-8s %9zu bytes:", name, where.block_bytes);
  for (int kind = 0; kind < 5; ++kind)
    if (where.bytes[kind] != 0) printf(" %zu in %s", where.bytes[kind], kinds[kind]);
  printf(" (%s)\n", where.reason);
}

static int must(const char* what, ompx_result_t result) {
  if (result <= ompx_incomplete) return 1;
  fprintf(stderr, "%s: error %d\n", what, result);
  exit(1);
}

int main(int argc, char** argv) {
  const size_t megabytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 64;
  if (megabytes < 2 || megabytes > 65536) {
    fprintf(stderr, "declare [megabytes, 2 to 65536]\n");
    return 2;
  }
  const size_t field_bytes = megabytes << 20, small_bytes = field_bytes / 2;
  double *history, *field, *table;

  /* Allocated one by one, the history would take the fast memory that the others need. */
  omp_alloctrait_t of_history[] = {{ompx_atk_importance, 20},
                                   {ompx_atk_access_mode, ompx_atv_access_mode_write_only}};
  omp_alloctrait_t of_field[] = {{ompx_atk_importance, 600},
                                 {ompx_atk_access_pattern, ompx_atv_access_pattern_sequential}};
  omp_alloctrait_t of_table[] = {{ompx_atk_importance, 300},
                                 {ompx_atk_access_mode, ompx_atv_access_mode_read_only},
                                 {ompx_atk_access_pattern, ompx_atv_access_pattern_random}};
  must("declare", ompx_declare(&history, field_bytes, ompx_auto_mem_space, 2, of_history));
  must("declare", ompx_declare(&field, field_bytes, ompx_auto_mem_space, 2, of_field));
  must("declare", ompx_declare(&table, small_bytes, ompx_auto_mem_space, 3, of_table));
  ompx_outcome_t outcome = {.struct_size = sizeof outcome};
  must("commit", ompx_commit(ompx_order_density, &outcome));
  if (history == NULL || field == NULL || table == NULL) {
    fprintf(stderr, "not enough memory\n");
    return 1;
  }
  printf("%zu of %zu as wished\n", outcome.as_wished, outcome.considered);
  memset(history, 1, field_bytes);
  memset(field, 2, field_bytes);
  memset(table, 3, small_bytes);
  show("history", history);
  show("field", field);
  show("table", table);

  /* Now the history is analysed, and the field is no longer used. */
  omp_alloctrait_t hot[] = {{ompx_atk_importance, 900},
                            {ompx_atk_access_mode, ompx_atv_access_mode_read_only},
                            {ompx_atk_access_pattern, ompx_atv_access_pattern_sequential}};
  omp_alloctrait_t cold[] = {{ompx_atk_importance, 0}};
  must("update", ompx_update_traits(history, 3, hot));
  must("update", ompx_update_traits(field, 1, cold));
  must("apply", ompx_apply(ompx_order_density, &outcome));
  printf("%zu bytes moved, %zu of %zu as wished\n", outcome.bytes_moved, outcome.as_wished,
         outcome.considered);
  show("history", history);
  show("field", field);
  const int intact = ((char*)history)[field_bytes - 1] == 1 && ((char*)field)[0] == 2;
  omp_free(history, omp_null_allocator);
  omp_free(field, omp_null_allocator);
  omp_free(table, omp_null_allocator);
  return intact ? 0 : 1;
}
