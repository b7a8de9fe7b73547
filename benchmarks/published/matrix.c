// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The matrix kernels of J. Klinkenberg et al., "H2M" (Future Generation Computer Systems, 2023,
// section 5.1), after their description: the element-wise product C = A . B and the plain product
// C = A x B, B read by rows (linear) or by columns (strided). Each matrix lies on a NUMA node of
// its own. Matrices are to the modelled caches as the published ones to theirs; time is the same
// for every row of C, so only some are computed where rows are long. Numerically checked.
//
// usage: matrix product|dgemm linear|strided NODES [columns]
//   NODES    of A, B and C: 0,0,1
//   columns  of the product (2000): lines of B that a row of C reads by columns, beside caches
//   prints   seconds, of the fastest repeat
#include "borders/model_marks.h"
#include "machine/guest_memory.h"

#include <math.h>
#include <stdbool.h>

static const double k_enough = 1; // seconds as the guest sees them, of all repeats
enum { k_elements = 4000000, k_dgemm_size = 600, k_dgemm_rows = 32 };

struct matrices {
  size_t rows, columns; // of a and c
  size_t b_rows, b_columns;
  double *a, *b, *c;
};

static double* matrix_on(int node, size_t elements) {
  const size_t bytes = elements * sizeof(double);
  return memory_on(node, (bytes + k_huge_page - 1) / k_huge_page * k_huge_page, 1);
}

static void product(const struct matrices* m, bool strided) {
  const size_t rows = m->rows, columns = m->columns;
  const double *a = m->a, *b = m->b;
  double* c = m->c;
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < rows; i++)
    if (strided)
      for (size_t j = 0; j < columns; j++)
        c[i * columns + j] = a[i * columns + j] * b[j * rows + i];
    else
      for (size_t j = 0; j < columns; j++)
        c[i * columns + j] = a[i * columns + j] * b[i * columns + j];
}

static double dot(const double* a, const double* b, size_t size, size_t stride) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t k = 0; k < size; k++)
    sum += a[k] * b[k * stride];
  return sum;
}

static void dgemm(const struct matrices* m, bool strided) {
  const size_t size = m->columns;
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < m->rows; i++)
    for (size_t j = 0; j < size; j++)
      m->c[i * size + j] = strided ? dot(m->a + i * size, m->b + j, size, size)
                                   : dot(m->a + i * size, m->b + j * size, size, 1);
}

// a[i][j] = i + 1; what is multiplied with it for c[i][j] is j + 2: b's row or column.
static void fill(const struct matrices* m, bool by_row) {
  for (size_t i = 0; i < m->rows * m->columns; i++)
    m->a[i] = (double)(i / m->columns) + 1;
  for (size_t i = 0; i < m->b_rows * m->b_columns; i++)
    m->b[i] = (double)(by_row ? i / m->b_columns : i % m->b_columns) + 2;
}

static bool is_right(const struct matrices* m, size_t terms) {
  for (size_t i = 0; i < m->rows; i++)
    for (size_t j = 0; j < m->columns; j++) {
      const double wanted = (double)(i + 1) * (double)(j + 2) * (double)terms;
      if (fabs(m->c[i * m->columns + j] - wanted) > 1e-9 * wanted) return false;
    }
  return true;
}

int main(int count, char** arguments) {
  const bool whole = count > 3 && strcmp(arguments[1], "dgemm") == 0;
  const bool strided = count > 3 && strcmp(arguments[2], "strided") == 0;
  int a = 0, b = 0, c = 0;
  if (count < 4 || (!whole && strcmp(arguments[1], "product") != 0) ||
      (!strided && strcmp(arguments[2], "linear") != 0) ||
      sscanf(arguments[3], "%d,%d,%d", &a, &b, &c) != 3) {
    fprintf(stderr, "usage: matrix product|dgemm linear|strided NODE,NODE,NODE [COLUMNS]\n");
    return 2;
  }
  const size_t columns = count > 4 ? (size_t)atoi(arguments[4]) : 2000;
  struct matrices m = {k_elements / columns, columns, k_elements / columns, columns, NULL, NULL, NULL};
  if (whole)
    m = (struct matrices){k_dgemm_rows, k_dgemm_size, k_dgemm_size, k_dgemm_size, NULL, NULL, NULL};
  else if (strided)
    m.b_rows = m.columns, m.b_columns = m.rows;
  omptier_model_off();
  m.a = matrix_on(a, m.rows * m.columns);
  m.b = matrix_on(b, m.b_rows * m.b_columns);
  m.c = matrix_on(c, m.rows * m.columns);
  fill(&m, whole != strided);
  start_team();
  double least = HUGE_VAL;
  for (double all = 0; all < k_enough;) {
    omptier_model_reset();
    omptier_model_on();
    const double begin = seconds_now();
    (whole ? dgemm : product)(&m, strided);
    const double took = seconds_now() - begin;
    omptier_model_off();
    all += took;
    least = fmin(least, took);
  }
  if (!is_right(&m, whole ? m.columns : 1)) {
    fprintf(stderr, "matrix: wrong result\n");
    return 1;
  }
  printf("%.6f\n", least);
  return 0;
}
