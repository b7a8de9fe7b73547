/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loops as everybody writes them, each with arrays of its own: stencils along rows and down
 * columns, a blocked product, probes of a hash table, a sparse product, a histogram, particles to
 * cells, lists by pointer and by index, structures of which one field is used, strides, a search,
 * loops that run backwards, short elements, an unrolled loop. Each runs for the same processor time, so that none
 * has too few samples.
 *
 * usage: kernels [milliseconds of each 400] [MiB of the large arrays: 2.5 last-level caches]
 *                [--truth FILE]
 */
#include "truth.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { k_rows = 1500, k_columns = 1500, k_matrix = 768, k_block = 64 };

typedef struct node {
  struct node* next;
  double value[3];
} node;

typedef struct {
  double x, y, z, mass;
  long id, flags;
} particle;

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185u;
  x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44du;
  return x ^ (x >> 33);
}

#define KERNEL __attribute__((noinline)) static

KERNEL void along_rows(double* to, const double* from) {
  for (long i = 1; i + 1 < k_rows; ++i)
    for (long j = 1; j + 1 < k_columns; ++j)
      to[i * k_columns + j] =
          0.25 * (from[(i - 1) * k_columns + j] + from[(i + 1) * k_columns + j] +
                  from[i * k_columns + j - 1] + from[i * k_columns + j + 1]);
}

/* Each column is smoothed from its top down. */
KERNEL void down_columns(double* to, const double* from) {
  for (long j = 1; j + 1 < k_columns; ++j) {
    double last = 0;
    for (long i = 0; i < k_rows; ++i) {
      last = 0.5 * last + 0.25 * (from[i * k_columns + j - 1] + from[i * k_columns + j + 1]);
      to[i * k_columns + j] = last;
    }
  }
}

KERNEL void multiply(double* c, const double* a, const double* b) {
  for (long ii = 0; ii < k_matrix; ii += k_block)
    for (long kk = 0; kk < k_matrix; kk += k_block)
      for (long jj = 0; jj < k_matrix; jj += k_block)
        for (long i = ii; i < ii + k_block; ++i)
          for (long k = kk; k < kk + k_block; ++k) {
            const double factor = a[i * k_matrix + k];
            for (long j = jj; j < jj + k_block; ++j)
              c[i * k_matrix + j] += factor * b[k * k_matrix + j];
          }
}

KERNEL long probe(const uint64_t* slots, uint64_t size, uint64_t seed, long count) {
  long found = 0;
  for (long i = 0; i < count; ++i) {
    const uint64_t key = mix(seed + (uint64_t)i) | 1;
    uint64_t at = key & (size - 1);
    while (slots[at] != 0 && slots[at] != key)
      at = (at + 1) & (size - 1);
    found += slots[at] == key;
  }
  return found;
}

KERNEL void sparse(double* y, const int* start, const int* column, const double* value,
                   const double* x, long rows) {
  for (long row = 0; row < rows; ++row) {
    double sum = 0;
    for (int k = start[row]; k < start[row + 1]; ++k)
      sum += value[k] * x[column[k]];
    y[row] = sum;
  }
}

KERNEL void count_pixels(uint64_t* bins, const uint16_t* pixel, long count) {
  for (long i = 0; i < count; ++i)
    ++bins[pixel[i]];
}

/* Particles to cells: indices are coordinates. */
KERNEL void deposit(double* cells, const double* px, const double* py, long count) {
  for (long i = 0; i < count; ++i)
    cells[(long)(int)py[i] * k_columns + (int)px[i]] += 1;
}

KERNEL double follow(const node** at, long steps) {
  double sum = 0;
  const node* here = *at;
  for (long i = 0; i < steps; ++i) {
    sum += here->value[1];
    here = here->next;
  }
  *at = here;
  return sum;
}

KERNEL double hop(const int* successor, const double* weight, int* at, long steps) {
  double sum = 0;
  int here = *at;
  for (long i = 0; i < steps; ++i) {
    sum += weight[here];
    here = successor[here];
  }
  *at = here;
  return sum;
}

KERNEL double sum_masses(const particle* particles, long count) {
  double sum = 0;
  for (long i = 0; i < count; ++i)
    sum += particles[i].mass;
  return sum;
}

KERNEL double sum_all(const double* masses, long count) {
  double sum = 0;
  for (long i = 0; i < count; ++i)
    sum += masses[i];
  return sum;
}

KERNEL double every(const double* values, long count, long step) {
  double sum = 0;
  for (long i = 0; i < count; i += step)
    sum += values[i];
  return sum;
}
KERNEL double every_third(const double* values, long count) {
  return every(values, count, 3);
}
KERNEL double every_line(const double* values, long count) {
  double sum = 0;
  for (long i = 0; i < count; i += 8)
    sum += values[i];
  return sum;
}
KERNEL double every_page(const double* values, long count) {
  double sum = 0;
  for (long i = 0; i < count; i += 512)
    sum += values[i];
  return sum;
}

KERNEL long search(const uint64_t* sorted, long count, uint64_t key) {
  long low = 0, high = count;
  while (low < high) {
    const long middle = low + (high - low) / 2;
    if (sorted[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

KERNEL void backwards(double* up, const double* down, long count) {
  for (long i = count - 1; i >= 0; --i)
    up[i] = 0.5 * up[i] + down[i];
}

KERNEL void scale(float* to, const float* from, long count) {
  for (long i = 0; i < count; ++i)
    to[i] = 1.0001f * from[i];
}

KERNEL long spaces(const char* text, long count) {
  long found = 0;
  for (long i = 0; i < count; ++i)
    found += text[i] == ' ';
  return found;
}

KERNEL double four_at_once(const double* left, const double* right, long count) {
  double sum = 0;
  for (long i = 0; i + 3 < count; i += 4)
    sum += left[i] * right[i] + left[i + 1] * right[i + 1] + left[i + 2] * right[i + 2] +
           left[i + 3] * right[i + 3];
  return sum;
}

/* One cycle through all of them (Sattolo's shuffle). */
static void cycle(int* order, long count) {
  for (long i = 0; i < count; ++i)
    order[i] = (int)i;
  for (long i = count - 1; i > 0; --i) {
    const long other = (long)(mix((uint64_t)i) % (uint64_t)i);
    const int kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
}

static void fill(double* data, long count, double value) {
  for (long i = 0; i < count; ++i)
    data[i] = value;
}
static double limit, begun; /* seconds of each kernel */
static long rounds;
static int goes_on(void) {
  if (rounds == 0) begun = truth_clock();
  return rounds++ == 0 || truth_clock() - begun < limit;
}
/* Ends a loop: what it took. */
static double ended(double* done) {
  *done = (double)(rounds - 1);
  rounds = 0;
  return truth_clock() - begun;
}

static int loop;
static int object(const char* name, double bytes, const char* pattern, double read,
                  double written) {
  const int number = truth_object(name, (size_t)bytes, 1, pattern);
  truth_use(loop, number, read, written);
  return number;
}

int main(int argc, char** argv) {
  limit = 1e-3 * (double)truth_number(argc, argv, 1, 400);
  const double beyond = 2.5 * (double)truth_last_level_cache(); /* never found in the cache */
  const double large = 0x1p20 * (double)truth_number(argc, argv, 2, (long)(beyond / 0x1p20) + 1);
  double done, took, sum = 0;
  const double grid = 8.0 * k_rows * k_columns, square = 8.0 * k_matrix * k_matrix;

  double* from = malloc(sizeof(double) * (k_rows * k_columns));
  fill(from, k_rows * k_columns, 1);
  double* to = malloc(sizeof(double) * (k_rows * k_columns));
  fill(to, k_rows * k_columns, 0);
  while (goes_on())
    along_rows(to, from);
  took = ended(&done);
  loop = truth_loop("rows", took);
  object("from", grid, TRUTH_SEQUENTIAL, done * 4 * grid, 0);
  object("to", grid, TRUTH_SEQUENTIAL, 0, done * grid);

  double* upper = malloc(sizeof(double) * (k_rows * k_columns));
  fill(upper, k_rows * k_columns, 1);
  double* lower = malloc(sizeof(double) * (k_rows * k_columns));
  fill(lower, k_rows * k_columns, 0);
  while (goes_on())
    down_columns(lower, upper);
  took = ended(&done);
  loop = truth_loop("columns", took);
  truth_stride(object("upper", grid, TRUTH_STRIDED, done * 2 * grid, 0), 8 * k_columns);
  truth_stride(object("lower", grid, TRUTH_STRIDED, 0, done * grid), 8 * k_columns);

  double* a = malloc(sizeof(double) * (k_matrix * k_matrix));
  fill(a, k_matrix * k_matrix, 1);
  double* b = malloc(sizeof(double) * (k_matrix * k_matrix));
  fill(b, k_matrix * k_matrix, 2);
  double* c = malloc(sizeof(double) * (k_matrix * k_matrix));
  fill(c, k_matrix * k_matrix, 0);
  while (goes_on())
    multiply(c, a, b);
  took = ended(&done);
  loop = truth_loop("product", took);
  const double products = done * square * k_matrix;
  object("a", square, TRUTH_TILED, products / k_block, 0);
  truth_from_cache(object("b", square, TRUTH_TILED, products, 0), 1);
  truth_from_cache(object("c", square, TRUTH_TILED, products, products), 1);

  const uint64_t size = 1 << 22;
  uint64_t* slots = calloc(size, sizeof *slots);
  for (uint64_t i = 0; i < size / 2; ++i) {
    const uint64_t key = mix(i) | 1;
    uint64_t at = key & (size - 1);
    while (slots[at] != 0)
      at = (at + 1) & (size - 1);
    slots[at] = key;
  }
  for (uint64_t seed = 0; goes_on(); seed += 30011)
    sum += (double)probe(slots, size, seed % size, 100000);
  took = ended(&done);
  loop = truth_loop("probes", took);
  object("slots", 8.0 * (double)size, TRUTH_SCATTERED, done * 3 * 8e5, 0);

  const long rows = 300000, entries = 12 * rows;
  double* x = malloc(sizeof(double) * rows);
  fill(x, rows, 1);
  double* y = malloc(sizeof(double) * rows);
  fill(y, rows, 0);
  double* value = malloc(sizeof(double) * entries);
  fill(value, entries, 2);
  int* start = malloc((size_t)(rows + 1) * 4);
  int* column = malloc((size_t)entries * 4);
  for (long row = 0; row <= rows; ++row)
    start[row] = (int)(12 * row);
  for (long k = 0; k < entries; ++k)
    column[k] = (int)(mix((uint64_t)k) % (uint64_t)rows);
  while (goes_on())
    sparse(y, start, column, value, x, rows);
  took = ended(&done);
  loop = truth_loop("sparse", took);
  truth_through(object("x", 8.0 * rows, TRUTH_INDIRECT, done * 8.0 * entries, 0), "column");
  object("column", 4.0 * entries, TRUTH_SEQUENTIAL, done * 4.0 * entries, 0);
  object("value", 8.0 * entries, TRUTH_SEQUENTIAL, done * 8.0 * entries, 0);
  object("y", 8.0 * rows, TRUTH_SEQUENTIAL, 0, done * 8.0 * rows);

  const long pixels = 8 << 20;
  uint16_t* pixel = malloc((size_t)pixels * 2);
  uint64_t* bins = calloc(65536, 8);
  for (long i = 0; i < pixels; ++i)
    pixel[i] = (uint16_t)mix((uint64_t)i);
  while (goes_on())
    count_pixels(bins, pixel, pixels);
  took = ended(&done);
  loop = truth_loop("histogram", took);
  const double visits = done * 8.0 * pixels;
  const int counted = object("bins", 8 * 65536, TRUTH_INDIRECT, visits, visits);
  truth_through(counted, "pixel");
  truth_from_cache(counted, 1);
  object("pixel", 2.0 * pixels, TRUTH_SEQUENTIAL, done * 2.0 * pixels, 0);

  const long moved = 1 << 20;
  double* px = malloc(sizeof(double) * moved);
  double* py = malloc(sizeof(double) * moved);
  for (long i = 0; i < moved; ++i) {
    px[i] = 1e-3 * (double)(mix((uint64_t)i) % (1000 * k_columns));
    py[i] = 1e-3 * (double)(mix((uint64_t)i + 7) % (1000 * k_rows));
  }
  double* cells = malloc(sizeof(double) * (k_rows * k_columns));
  fill(cells, k_rows * k_columns, 0);
  while (goes_on())
    deposit(cells, px, py, moved);
  took = ended(&done);
  loop = truth_loop("deposit", took);
  const double placed = done * 8.0 * moved;
  object("cells", grid, TRUTH_SCATTERED, placed, placed);
  object("px", 8.0 * moved, TRUTH_SEQUENTIAL, placed, 0);
  object("py", 8.0 * moved, TRUTH_SEQUENTIAL, placed, 0);

  const long listed = 1 << 20;
  int* order = malloc((size_t)listed * sizeof *order);
  cycle(order, listed);
  node* nodes = malloc((size_t)listed * sizeof *nodes);
  for (long i = 0; i < listed; ++i)
    nodes[i] = (node){nodes + order[i], {1, 2, 3}};
  free(order);
  const node* here = nodes;
  while (goes_on())
    sum += follow(&here, 100000);
  took = ended(&done);
  loop = truth_loop("list", took);
  object("nodes", (double)sizeof *nodes * listed, TRUTH_CHASE, done * 16e5, 0);

  int* successor = malloc(2 * (size_t)listed * sizeof *successor);
  cycle(successor, 2 * listed);
  double* weight = malloc(sizeof(double) * (2 * listed));
  fill(weight, 2 * listed, 1);
  int at = 0;
  while (goes_on())
    sum += hop(successor, weight, &at, 100000);
  took = ended(&done);
  loop = truth_loop("hops", took);
  object("successor", 8.0 * listed, TRUTH_CHASE, done * 4e5, 0);
  truth_through(object("weight", 16.0 * listed, TRUTH_INDIRECT, done * 8e5, 0), "successor");

  const long count = 1 << 20;
  particle* particles = calloc((size_t)count, sizeof *particles);
  for (long i = 0; i < count; ++i)
    particles[i].mass = 1;
  double* masses = malloc(sizeof(double) * count);
  fill(masses, count, 1);
  while (goes_on())
    sum += sum_masses(particles, count);
  took = ended(&done);
  loop = truth_loop("structures", took);
  const int o_particles =
      object("particles", 48.0 * count, TRUTH_STRIDED, done * 8.0 * count, 8.0 * count);
  truth_stride(o_particles, 48);
  while (goes_on())
    sum += sum_all(masses, count);
  took = ended(&done);
  loop = truth_loop("fields", took);
  object("masses", 8.0 * count, TRUTH_SEQUENTIAL, done * 8.0 * count, 8.0 * count);

  const long wide = (long)(large / 8) / 512 * 512;
  double* thirds = malloc(sizeof(double) * (4 << 20));
  fill(thirds, 4 << 20, 1);
  double* lines = malloc(sizeof(double) * (size_t)wide);
  fill(lines, wide, 1);
  double* pages = malloc(sizeof(double) * (8 << 20));
  fill(pages, 8 << 20, 1);
  while (goes_on())
    sum += every_third(thirds, 4 << 20);
  took = ended(&done);
  loop = truth_loop("every third", took);
  truth_stride(object("thirds", 8.0 * (4 << 20), TRUTH_STRIDED, done * 8.0 * (4 << 20) / 3, 0), 24);
  while (goes_on())
    sum += every_line(lines, wide);
  took = ended(&done);
  loop = truth_loop("every line", took);
  const int o_lines = object("lines", 8.0 * (double)wide, TRUTH_STRIDED, done * (double)wide, 0);
  truth_stride(o_lines, 64);
  if (large >= beyond) truth_from_cache(o_lines, 0);
  while (goes_on())
    sum += every_page(pages, 8 << 20);
  took = ended(&done);
  loop = truth_loop("every page", took);
  const double of_pages = 8.0 * (8 << 20);
  truth_stride(object("pages", of_pages, TRUTH_STRIDED, done * of_pages / 512, 0), 4096);

  const long keys = 1 << 22;
  uint64_t* sorted = malloc((size_t)keys * 8);
  for (long i = 0; i < keys; ++i)
    sorted[i] = (uint64_t)i * 1000;
  for (uint64_t key = 0; goes_on();)
    for (int i = 0; i < 100000; ++i)
      sum += (double)search(sorted, keys, mix(++key) % ((uint64_t)keys * 1000));
  took = ended(&done);
  loop = truth_loop("search", took);
  object("sorted", 8.0 * keys, TRUTH_SCATTERED, done * 22 * 8e5, 8.0 * keys);

  double* up = malloc(sizeof(double) * count);
  fill(up, count, 1);
  double* down = malloc(sizeof(double) * count);
  fill(down, count, 1);
  while (goes_on())
    backwards(up, down, count);
  took = ended(&done);
  loop = truth_loop("backwards", took);
  object("up", 8.0 * count, TRUTH_SEQUENTIAL, done * 8.0 * count, done * 8.0 * count);
  object("down", 8.0 * count, TRUTH_SEQUENTIAL, done * 8.0 * count, 8.0 * count);

  const long floats = (long)(large / 4);
  float* single = malloc((size_t)floats * 4);
  float* scaled = malloc((size_t)floats * 4);
  for (long i = 0; i < floats; ++i)
    single[i] = scaled[i] = 1;
  while (goes_on())
    scale(scaled, single, floats);
  took = ended(&done);
  loop = truth_loop("scale", took);
  const double bytes = 4.0 * (double)floats;
  const int o_single = object("single", bytes, TRUTH_SEQUENTIAL, done * bytes, 0);
  const int o_scaled = object("scaled", bytes, TRUTH_SEQUENTIAL, 0, done * bytes);
  if (large >= beyond) truth_from_cache(o_single, 0);
  if (large >= beyond) truth_from_cache(o_scaled, 0);

  const long letters = 256 << 10;
  char* text = malloc((size_t)letters);
  memset(text, 'x', (size_t)letters);
  while (goes_on())
    sum += (double)spaces(text, letters);
  took = ended(&done);
  loop = truth_loop("spaces", took);
  truth_from_cache(object("text", (double)letters, TRUTH_SEQUENTIAL, done * (double)letters, 0), 1);

  double* left = malloc(sizeof(double) * count);
  fill(left, count, 1);
  double* right = malloc(sizeof(double) * count);
  fill(right, count, 1);
  while (goes_on())
    sum += four_at_once(left, right, count);
  took = ended(&done);
  loop = truth_loop("four at once", took);
  object("left", 8.0 * count, TRUTH_SEQUENTIAL, done * 8.0 * count, 0);
  object("right", 8.0 * count, TRUTH_SEQUENTIAL, done * 8.0 * count, 0);

  printf("%g %g %g\n", sum, to[k_columns + 1] + lower[k_columns + 1] + c[5],
         cells[3] + y[3] + up[0] + (double)scaled[7] + (double)bins[9]);
  const char* file = truth_option(argc, argv, "--truth");
  return file != NULL && truth_write(file, "kernels") != 0;
}
