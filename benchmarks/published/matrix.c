// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The matrix kernels of J. Klinkenberg et al., "H2M" (Future Generation Computer Systems, 2023,
// section 5.1), after their description: the element-wise product C = A . B and the plain product
// C = A x B, B read by rows (linear) or by columns (strided). Each matrix lies on a NUMA node of its
// own. Matrices are to the modelled caches as the published ones to theirs; of the plain product,
// whose time is the same for every row of C, only so many rows are computed. Numerically checked.
//
// usage: matrix product|dgemm linear|strided NODES
//   NODES   of A, B and C: 0,0,1
//   prints  seconds
#include "borders/model_marks.h"
#include "machine/guest_memory.h"

#include <math.h>
#include <stdbool.h>

enum { k_product_size = 1000, k_dgemm_size = 600, k_dgemm_rows = 16 };

struct matrices {
  size_t size; // of a row
  double *a, *b, *c;
};

static double* matrix_on(int node, size_t size) {
  const size_t bytes = size * size * sizeof(double);
  return memory_on(node, (bytes + k_huge_page - 1) / k_huge_page * k_huge_page, 1);
}

static void product(const struct matrices* m, bool strided) {
  const size_t size = m->size;
  const double *a = m->a, *b = m->b;
  double* c = m->c;
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < size; i++)
    if (strided)
      for (size_t j = 0; j < size; j++)
        c[i * size + j] = a[i * size + j] * b[j * size + i];
    else
      for (size_t j = 0; j < size; j++)
        c[i * size + j] = a[i * size + j] * b[i * size + j];
}

static double dot(const double* a, const double* b, size_t size, size_t stride) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t k = 0; k < size; k++)
    sum += a[k] * b[k * stride];
  return sum;
}

static void dgemm(const struct matrices* m, bool strided) {
  const size_t size = m->size;
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < k_dgemm_rows; i++)
    for (size_t j = 0; j < size; j++)
      m->c[i * size + j] = strided ? dot(m->a + i * size, m->b + j, size, size)
                                   : dot(m->a + i * size, m->b + j * size, size, 1);
}

// a[i][j] = i + 1; what is read as B's element (i, j) of the product is j + 2.
static void fill(const struct matrices* m, bool transposed) {
  for (size_t i = 0; i < m->size; i++)
    for (size_t j = 0; j < m->size; j++) {
      m->a[i * m->size + j] = (double)i + 1;
      m->b[i * m->size + j] = (double)(transposed ? i : j) + 2;
    }
}

static bool is_right(const struct matrices* m, size_t rows, size_t terms) {
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < m->size; j++) {
      const double wanted = (double)(i + 1) * (double)(j + 2) * (double)terms;
      if (fabs(m->c[i * m->size + j] - wanted) > 1e-9 * wanted) return false;
    }
  return true;
}

int main(int count, char** arguments) {
  const bool whole = count == 4 && strcmp(arguments[1], "dgemm") == 0;
  const bool strided = count == 4 && strcmp(arguments[2], "strided") == 0;
  int a = 0, b = 0, c = 0;
  if (count != 4 || (!whole && strcmp(arguments[1], "product") != 0) ||
      (!strided && strcmp(arguments[2], "linear") != 0) ||
      sscanf(arguments[3], "%d,%d,%d", &a, &b, &c) != 3) {
    fprintf(stderr, "usage: matrix product|dgemm linear|strided NODE,NODE,NODE\n");
    return 2;
  }
  omptier_model_off();
  struct matrices m = {whole ? k_dgemm_size : k_product_size, NULL, NULL, NULL};
  m.a = matrix_on(a, m.size), m.b = matrix_on(b, m.size), m.c = matrix_on(c, m.size);
  fill(&m, whole != strided);
  omptier_model_reset();
  omptier_model_on();
  const double begin = seconds_now();
  (whole ? dgemm : product)(&m, strided);
  const double took = seconds_now() - begin;
  omptier_model_off();
  if (!is_right(&m, whole ? k_dgemm_rows : m.size, whole ? m.size : 1)) {
    fprintf(stderr, "matrix: wrong result\n");
    return 1;
  }
  printf("%.6f\n", took);
  return 0;
}
