/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C = A B by tiles, where A and C may have fewer rows than B: for each tile of C, the tiles of A's
 * row and of B's column. In chunks, three lists say in which order tiles come, so that the next one
 * of A and B is fetched while two are multiplied, and a finished one of C is written back
 * meanwhile.
 */
#include "chunked.h"

#include "../virtual_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tile: rows and columns, and elements from one row's begin to the next. */
struct tile {
  double* data;
  size_t rows, columns, stride;
};

/* Of a matrix of m x n. */
static struct tile tile_of(double* matrix, size_t m, size_t n, size_t edge, size_t row,
                           size_t column) {
  const size_t rows = m - row * edge < edge ? m - row * edge : edge;
  const size_t columns = n - column * edge < edge ? n - column * edge : edge;
  return (struct tile){matrix + row * edge * n + column * edge, rows, columns, n};
}

static struct tile tile_in(const ompx_chunk_t* chunk) {
  return (struct tile){(double*)chunk->data, chunk->rows, chunk->bytes / sizeof(double),
                       chunk->stride / sizeof(double)};
}

enum { k_together = 4 }; /* rows of c that share what they read of b */

static void multiply_rows(const struct tile* c, const struct tile* a, const struct tile* b,
                          size_t first) {
  double* restrict c0 = c->data + first * c->stride;
  double* restrict c1 = c0 + c->stride, * restrict c2 = c1 + c->stride, * restrict c3 = c2 + c->stride;
  const double* left = a->data + first * a->stride;
  for (size_t k = 0; k < b->rows; ++k) {
    const double* restrict row = b->data + k * b->stride;
    const double a0 = left[k], a1 = left[k + a->stride], a2 = left[k + 2 * a->stride],
                 a3 = left[k + 3 * a->stride];
    for (size_t j = 0; j < b->columns; ++j) {
      c0[j] += a0 * row[j];
      c1[j] += a1 * row[j];
      c2[j] += a2 * row[j];
      c3[j] += a3 * row[j];
    }
  }
}

static void multiply_row(const struct tile* c, const struct tile* a, const struct tile* b,
                         size_t i) {
  double* restrict sum = c->data + i * c->stride;
  for (size_t k = 0; k < b->rows; ++k) {
    const double* restrict row = b->data + k * b->stride;
    const double left = a->data[i * a->stride + k];
    for (size_t j = 0; j < b->columns; ++j)
      sum[j] += left * row[j];
  }
}

/* c += a b */
static void multiply_tiles(struct tile c, struct tile a, struct tile b) {
#pragma omp parallel for schedule(static)
  for (size_t first = 0; first < c.rows; first += k_together)
    if (first + k_together <= c.rows)
      multiply_rows(&c, &a, &b, first);
    else
      for (size_t i = first; i < c.rows; ++i)
        multiply_row(&c, &a, &b, i);
}

static void clear(struct tile c) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < c.rows; ++i)
    memset(c.data + i * c.stride, 0, c.columns * sizeof(double));
}

static void multiply_plain(double* a, double* b, double* c, size_t m, size_t n, size_t edge) {
  const size_t down = (m - 1) / edge + 1, across = (n - 1) / edge + 1;
  for (size_t i = 0; i < down; ++i)
    for (size_t j = 0; j < across; ++j) {
      const struct tile sum = tile_of(c, m, n, edge, i, j);
      clear(sum);
      for (size_t k = 0; k < across; ++k)
        multiply_tiles(sum, tile_of(a, m, n, edge, i, k), tile_of(b, n, n, edge, k, j));
    }
}

static ompx_chunked_t* begin(double* matrix, size_t rows, size_t n, size_t edge, omp_uintptr_t mode,
                             const size_t* order, size_t count) {
  ompx_chunked_array_t array = {.struct_size = sizeof array,
                                .data = matrix,
                                .rows = rows,
                                .row_bytes = n * sizeof *matrix,
                                .mode = mode,
                                .chunk_rows = edge,
                                .chunk_bytes = (edge < n ? edge : n) * sizeof *matrix,
                                .order = order,
                                .order_count = count};
  ompx_chunked_t* chunked;
  must("ompx_chunked_begin", ompx_chunked_begin(&array, &chunked));
  return chunked;
}

/* Returns whether tiles were copies. */
static int multiply_in_chunks(double* a, double* b, double* c, size_t m, size_t n, size_t edge) {
  const size_t down = (m - 1) / edge + 1, across = (n - 1) / edge + 1;
  const size_t steps = down * across * across;
  size_t* of_a = malloc(2 * steps * sizeof *of_a);
  if (of_a == NULL) {
    fprintf(stderr, "chunked: no memory for %zu tiles\n", 2 * steps);
    exit(1);
  }
  size_t* of_b = of_a + steps;
  for (size_t step = 0; step < steps; ++step) {
    const size_t i = step / across / across, j = step / across % across, k = step % across;
    of_a[step] = i * across + k;
    of_b[step] = k * across + j;
  }
  ompx_chunked_t* as = begin(a, m, n, edge, ompx_atv_access_mode_read_only, of_a, steps);
  ompx_chunked_t* bs = begin(b, n, n, edge, ompx_atv_access_mode_read_only, of_b, steps);
  ompx_chunked_t* cs = begin(c, m, n, edge, ompx_atv_access_mode_write_only, NULL, 0);
  free(of_a);
  ompx_chunk_t left, right, sum;
  int copied = 0;
  while (next_chunk(cs, &sum) != NULL) {
    clear(tile_in(&sum));
    for (size_t k = 0; k < across; ++k) {
      next_chunk(as, &left);
      next_chunk(bs, &right);
      multiply_tiles(tile_in(&sum), tile_in(&left), tile_in(&right));
      copied |= left.copied;
    }
  }
  must("ompx_chunked_end", ompx_chunked_end(as));
  must("ompx_chunked_end", ompx_chunked_end(bs));
  must("ompx_chunked_end", ompx_chunked_end(cs));
  return copied;
}

struct outcome run_multiply(const struct options* options) {
  const size_t m = options->rows != 0 ? options->rows : options->size, n = options->size;
  struct outcome outcome = {0};
  double* a = new_array(m * n, options->allocator);
  double* b = new_array(n * n, options->allocator);
  double* c = new_array(m * n, options->allocator);
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j)
      b[i * n + j] = (double)((i * 5 + j) % 13) - 6;
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      a[i * n + j] = (double)((i * 7 + j * 3) % 11) - 5;
      c[i * n + j] = 0;
    }
  example_measure_begin();
  const double start = omp_get_wtime();
  if (options->plain)
    multiply_plain(a, b, c, m, n, options->chunk);
  else
    outcome.copied = multiply_in_chunks(a, b, c, m, n, options->chunk);
  outcome.seconds = omp_get_wtime() - start;
  example_measure_end();
  outcome.array = b;
  if (options->check) {
    double* expected = new_array(m * n, omp_default_mem_alloc);
    multiply_plain(a, b, expected, m, n, m > n ? m : n);
    for (size_t i = 0; i < m * n; ++i)
      outcome.wrong += expected[i] != c[i]; /* small whole numbers: every order gives the same */
  }
  return outcome;
}
