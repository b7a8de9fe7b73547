/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * chunked: arrays larger than fast memory, passed through it in chunks. Two loops, each in a plain
 * form that works on the arrays where they lie, and in a form that works on chunks:
 *
 *   multiply   C = A B by tiles; their order is known, so each matrix has a list of them
 *   stencil    sweeps of a 27-point stencil from one mesh to another; chunks are planes with a
 *              halo; with --sweeps 2, a chunk is swept twice, which needs a wider halo
 *
 * Prints seconds, where the arrays lie, and whether chunks were copied; --check compares with the
 * plain form, which must give the same bits.
 */
#include "chunked.h"

#include "../virtual_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void must(const char* what, ompx_result_t result) {
  if (result == ompx_success) return;
  fprintf(stderr, "chunked: %s: error %d\n", what, (int)result);
  exit(1);
}

double* new_array(size_t count, omp_allocator_handle_t allocator) {
  double* array = (double*)omp_alloc(count * sizeof *array, allocator);
  if (array != NULL) return array;
  fprintf(stderr, "chunked: %zu bytes cannot be allocated\n", count * sizeof *array);
  exit(1);
}

double* next_chunk(ompx_chunked_t* chunked, ompx_chunk_t* chunk) {
  chunk->struct_size = sizeof *chunk;
  must("ompx_chunked_next", ompx_chunked_next(chunked, chunk));
  return (double*)chunk->data;
}

/* Memory of this kind; where it has no room, the runtime's. Pages are spread over its nodes. */
static omp_allocator_handle_t allocator_in(const char* kind) {
  static const char* const names[] = {"large", "dram", "hbm", "nvm", "cxl"};
  const omp_memspace_handle_t spaces[] = {omp_large_cap_mem_space, ompx_dram_mem_space,
                                          ompx_hbm_mem_space, ompx_nvm_mem_space,
                                          ompx_cxl_mem_space};
  omp_alloctrait_t traits[] = {{omp_atk_partition, omp_atv_interleaved}};
  for (int i = 0; i < 5; ++i)
    if (strcmp(kind, names[i]) == 0) return omp_init_allocator(spaces[i], 1, traits);
  return omp_null_allocator;
}

static void print_where(const char* name, const double* array) {
  static const char* const kinds[] = {"DRAM", "HBM", "NVM", "CXL", "unknown"};
  ompx_placement_t where = {.struct_size = sizeof where};
  if (ompx_get_placement(array, 0, &where) != ompx_success) return;
  printf("%s", name);
  for (int kind = 0; kind < 5; ++kind)
    if (where.bytes[kind] != 0) printf(" %zu MiB in %s", where.bytes[kind] >> 20, kinds[kind]);
  printf("\n");
}

static int usage(void) {
  fprintf(stderr,
          "usage: chunked multiply|stencil [--plain] [--size N] [--rows N] [--chunk N]\n"
          "               [--sweeps N] [--passes N] [--in large|dram|hbm|nvm|cxl] [--check]\n"
          "  --size    rows of a matrix, or edge of the mesh (512, 128)\n"
          "  --rows    of A and C (as many)\n"
          "  --chunk   rows of a tile (256), or planes of a chunk (0: chosen)\n"
          "  --sweeps  of the stencil before the next chunk (1)\n"
          "  --passes  over the mesh (2)\n");
  return 2;
}

static int read_options(int argc, char** argv, struct options* options) {
  for (int i = 2; i < argc; ++i) {
    const char* name = argv[i];
    if (strcmp(name, "--plain") == 0) {
      options->plain = 1;
      continue;
    }
    if (strcmp(name, "--check") == 0) {
      options->check = 1;
      continue;
    }
    if (++i == argc) return 0;
    if (strcmp(name, "--in") == 0) {
      options->allocator = allocator_in(argv[i]);
      if (options->allocator == omp_null_allocator) return 0;
      continue;
    }
    char* rest;
    const unsigned long number = strtoul(argv[i], &rest, 10);
    if (*rest != '\0' || number > 1u << 20 || argv[i][0] == '-') return 0;
    if (strcmp(name, "--size") == 0 && number >= 4)
      options->size = number;
    else if (strcmp(name, "--rows") == 0)
      options->rows = number;
    else if (strcmp(name, "--chunk") == 0)
      options->chunk = number;
    else if (strcmp(name, "--sweeps") == 0 && number >= 1)
      options->sweeps = number;
    else if (strcmp(name, "--passes") == 0 && number >= 1)
      options->passes = number;
    else
      return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  const int multiply = argc > 1 && strcmp(argv[1], "multiply") == 0;
  if (!multiply && (argc < 2 || strcmp(argv[1], "stencil") != 0)) return usage();
  example_measure_end();
  struct options options = {.size = multiply ? 512 : 128,
                            .chunk = multiply ? 256 : 0,
                            .sweeps = 1,
                            .passes = 2,
                            .allocator = allocator_in("large")};
  if (!read_options(argc, argv, &options) || (multiply && options.chunk == 0) ||
      options.sweeps > options.size)
    return usage();
  struct outcome outcome = multiply ? run_multiply(&options) : run_stencil(&options);
  printf("seconds %.4f\n", outcome.seconds);
  print_where("array", outcome.array);
  printf("copied %s\n", options.plain ? "no chunks" : outcome.copied ? "yes" : "no");
  if (options.check) printf("check %s\n", outcome.wrong ? "failed" : "passed");
  return outcome.wrong != 0;
}
