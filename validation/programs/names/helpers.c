/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Arrays of C: helpers that return memory or store it where they are told, macros, structures.
 */
#include "truth.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CALLOC(pointer, count) (pointer) = calloc((count), sizeof *(pointer))
#define NEW(type, count) ((type *)malloc((count) * sizeof(type)))
#define CHECKED(pointer, bytes)                                                                    \
  do {                                                                                             \
    pointer = malloc(bytes);                                                                       \
    if (!pointer) abort();                                                                         \
  } while (0)

struct grid {
  size_t cells;
  double *rho, *u;
};

static void *xmalloc(size_t bytes) {
  void *memory = malloc(bytes);
  if (memory == NULL) abort();
  return memory;
}

static void *checked(void *memory) {
  if (memory == NULL) abort();
  return memory;
}

static double *alloc2d(size_t rows, size_t columns) {
  double *data = xmalloc(rows * columns * sizeof(double));
  memset(data, 0, rows * columns * sizeof(double));
  return data;
}

static void make(double **out, size_t count) {
  *out = malloc(count * sizeof **out);
  memset(*out, 1, count * sizeof **out);
}

static int aligned(void **out, size_t bytes) { return posix_memalign(out, 64, bytes); }

static void init(struct grid *g, size_t count) {
  g->cells = count;
  g->rho = xmalloc(count * sizeof(double));
  if (posix_memalign((void **)&g->u, 64, (count + 100) * sizeof(double))) abort();
}

static struct grid *create(size_t count) {
  struct grid *made = malloc(sizeof *made);
  init(made, count);
  return made;
}

static double work(size_t count) { /* its own memory, not its caller's */
  double *scratch = malloc(count * sizeof *scratch), sum = 0;
  KEEP(scratch);
  memset(scratch, 0, count * sizeof *scratch);
  for (size_t i = 0; i < count; ++i) sum += scratch[i];
  free(scratch);
  return sum;
}

int main(int argc, char **argv) {
  const size_t n = 100000 * (size_t)argc;
  (void)argv;
  double *pressure = alloc2d(100, n / 100), *velocity = alloc2d(200, (n + 1000) / 100), *density;
  density = alloc2d(2, n + 2000);
  double *filled, *other;
  make(&filled, n + 3000);
  make(&other, n + 4000);
  double *left;
  if (aligned((void **)&left, 8 * (n + 5000)) != 0) return 2;
  float *counts, *totals;
  CALLOC(counts, n + 6000);
  CHECKED(totals, 4 * (n + 7000));
  int *keys = NEW(int, n + 8000);
  struct grid coarse, *fine = create(n + 10000);
  init(&coarse, n + 9000);
  double result = work(n + 11000);
  result += work(n + 12000);
  uint64_t *table = NULL;
  table = realloc(table, 8 * (n + 13000));
  double *tested = checked(malloc(8 * (n + 14000)));
  double (*square)[n] = malloc(sizeof(double[2][n + 15000]));
  char *text = strdup("short");
  KEEP(pressure);
  KEEP(velocity);
  KEEP(density);
  KEEP(left);
  KEEP(counts);
  KEEP(totals);
  KEEP(keys);
  KEEP(table);
  KEEP(fine);
  KEEP(tested);
  KEEP(square);
  pressure[5] = velocity[6] = density[7] = left[8] = counts[9] = totals[10] = keys[11] = table[12] = *text;
  NAME("pressure", 8 * n);
  NAME("velocity", 8 * 2 * (n + 1000));
  NAME("density", 8 * 2 * (n + 2000));
  NAME("filled", 8 * (n + 3000));
  NAME("other", 8 * (n + 4000));
  NAME("left", 8 * (n + 5000));
  NAME("counts", 4 * (n + 6000));
  NAME("totals", 4 * (n + 7000));
  NAME("keys", 4 * (n + 8000));
  NAME("coarse/rho", 8 * (n + 9000));
  NAME("coarse/u", 8 * (n + 9100));
  NAME("fine/rho", 8 * (n + 10000));
  NAME("fine/u", 8 * (n + 10100));
  NAME("scratch", 8 * (n + 11000));
  NAME("scratch", 8 * (n + 12000));
  NAME("table", 8 * (n + 13000));
  NAME("tested", 8 * (n + 14000));
  NAME("square", 16 * (n + 15000));
  return result + pressure[5] + velocity[6] + density[7] + filled[8] + other[9] + left[10] + counts[9] + totals[10] +
             keys[11] + table[12] + coarse.rho[3] + coarse.u[4] + fine->rho[5] + fine->u[6] == 0.5;
}
