/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A 27-point stencil: each point of the new mesh is a weighted mean of the old one's around it; the
 * outer points stay. Chunks are planes. To sweep a chunk s times, s planes of halo are needed on
 * each side: each sweep but the last goes into one of two small meshes of the chunk's size, and
 * computes a plane less on each side.
 */
#include "chunked.h"

#include "../virtual_machine.h"

#include <string.h>

/* Plane z of the new mesh, of planes z - 1 to z + 1 of the old one, all n x n. */
static void sweep_plane(double* restrict to, const double* from, size_t n) {
  const size_t plane = n * n;
  memcpy(to, from, n * sizeof *to);
  memcpy(to + plane - n, from + plane - n, n * sizeof *to);
  for (size_t y = 1; y + 1 < n; ++y) {
    const double* old = from + y * n;
    to[y * n] = old[0];
    to[y * n + n - 1] = old[n - 1];
    for (size_t x = 1; x + 1 < n; ++x) {
      double sum = 0;
      for (ptrdiff_t dz = -1; dz <= 1; ++dz)
        for (ptrdiff_t dy = -1; dy <= 1; ++dy) {
          const double* row = old + dz * (ptrdiff_t)plane + dy * (ptrdiff_t)n + (ptrdiff_t)x;
          sum += (row[-1] + row[0]) + row[1];
        }
      to[y * n + x] = sum * (1.0 / 32) + old[x] * (5.0 / 32);
    }
  }
}

/* Planes [first, last) of a mesh of n planes, of which to and from have plane 0 at their begin. */
static void sweep(double* to, const double* from, size_t n, ptrdiff_t first, ptrdiff_t last) {
  const ptrdiff_t plane = (ptrdiff_t)(n * n);
#pragma omp parallel for schedule(static)
  for (ptrdiff_t z = first; z < last; ++z)
    if (z == 0 || z == (ptrdiff_t)n - 1)
      memcpy(to + z * plane, from + z * plane, (size_t)plane * sizeof *to);
    else
      sweep_plane(to + z * plane, from + z * plane, n);
}

static ompx_chunked_t* begin(double* mesh, size_t n, size_t planes, omp_uintptr_t mode,
                             size_t halo) {
  ompx_chunked_array_t array = {.struct_size = sizeof array,
                                .data = mesh,
                                .rows = n,
                                .row_bytes = n * n * sizeof *mesh,
                                .mode = mode,
                                .chunk_rows = planes,
                                .halo_rows = halo};
  ompx_chunked_t* chunked;
  must("ompx_chunked_begin", ompx_chunked_begin(&array, &chunked));
  return chunked;
}

/* sweeps of one chunk, whose planes without halo are [first, last): the last one into to. All
 * pointers are those of plane 0. */
static void sweep_chunk(double* to, const double* from, double* small[2], size_t n, size_t sweeps,
                        ptrdiff_t first, ptrdiff_t last) {
  for (ptrdiff_t more = (ptrdiff_t)sweeps - 1; more >= 0; --more) {
    double* next = more == 0 ? to : small[more % 2];
    const ptrdiff_t low = first - more > 0 ? first - more : 0;
    const ptrdiff_t high = last + more < (ptrdiff_t)n ? last + more : (ptrdiff_t)n;
    sweep(next, from, n, low, high);
    from = next;
  }
}

/* Passes over the whole mesh. Returns whether chunks were copies. */
static int pass_in_chunks(double* to, double* from, const struct options* options) {
  const size_t n = options->size, plane = n * n, sweeps = options->sweeps;
  ompx_chunked_t* old = begin(from, n, options->chunk, ompx_atv_access_mode_read_only, sweeps);
  ompx_chunk_t source, target;
  double *small[2] = {NULL, NULL}, *of_first = NULL;
  ompx_chunked_t* new = NULL;
  int copied = 0;
  while (next_chunk(old, &source) != NULL) {
    if (new == NULL) {
      const size_t planes = source.rows; /* the same chunks of the other mesh */
      new = begin(to, n, planes, ompx_atv_access_mode_write_only, 0);
      const size_t room = (planes + 2 * sweeps) * plane;
      if (sweeps > 1) of_first = new_array(2 * room, ompx_auto_mem_alloc);
    }
    next_chunk(new, &target);
    const size_t first = source.first_row, begins = first - source.halo_before;
    const size_t room = source.rows + source.halo_before + source.halo_after;
    if (sweeps > 1) {
      small[0] = of_first - begins * plane;
      small[1] = small[0] + room * plane;
    }
    sweep_chunk((double*)target.data - first * plane, (double*)source.data - first * plane, small,
                n, sweeps, (ptrdiff_t)first, (ptrdiff_t)(first + source.rows));
    copied |= source.copied;
  }
  must("ompx_chunked_end", ompx_chunked_end(old));
  next_chunk(new, &target);
  must("ompx_chunked_end", ompx_chunked_end(new));
  omp_free(of_first, omp_null_allocator);
  return copied;
}

static int stencil(double* mesh[2], const struct options* options, int plain) {
  int copied = 0;
  const size_t passes = plain ? options->passes * options->sweeps : options->passes;
  for (size_t pass = 0; pass < passes; ++pass) {
    double *from = mesh[pass % 2], *to = mesh[(pass + 1) % 2];
    if (plain)
      sweep(to, from, options->size, 0, (ptrdiff_t)options->size);
    else
      copied |= pass_in_chunks(to, from, options);
  }
  return copied;
}

static void fill(double* mesh[2], size_t n) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < n * n * n; ++i) {
    mesh[0][i] = (double)(i % 1021 * (i % 7));
    mesh[1][i] = 0;
  }
}

struct outcome run_stencil(const struct options* options) {
  const size_t n = options->size, points = n * n * n;
  struct outcome outcome = {0};
  double* mesh[2] = {new_array(points, options->allocator), new_array(points, options->allocator)};
  fill(mesh, n);
  example_measure_begin();
  const double start = omp_get_wtime();
  outcome.copied = stencil(mesh, options, options->plain);
  outcome.seconds = omp_get_wtime() - start;
  example_measure_end();
  outcome.array = mesh[0];
  if (options->check) {
    const size_t passes = options->plain ? options->passes * options->sweeps : options->passes;
    double* expected[2] = {new_array(points, omp_default_mem_alloc),
                           new_array(points, omp_default_mem_alloc)};
    fill(expected, n);
    stencil(expected, options, 1);
    const double *is = mesh[passes % 2], *wanted = expected[options->passes * options->sweeps % 2];
    for (size_t i = 0; i < points; ++i)
      outcome.wrong += is[i] != wanted[i];
  }
  return outcome;
}
