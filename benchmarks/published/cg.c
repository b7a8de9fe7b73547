// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conjugate gradients (Hestenes and Stiefel, 1952) on an irregular sparse matrix, after the
// descriptions of NAS CG (Bailey et al., 1991) and of HPCG (Dongarra et al., 2013). Row i has
// entries of -1 where two unknowns are neighbours, at random places, and a diagonal that exceeds
// their number by one, so it is symmetric and positive definite. The residual that the method
// carries on must be that of its solution.
//
// usage: cg [SIZE [STEPS]]
#include "whole_program.h"

#include <math.h>

// As in NAS CG, the method begins anew after 25 steps.
enum { k_unknowns = 1 << 17, k_most_neighbours = 20, k_inner = 25 };

struct matrix {
  size_t unknowns;
  uint64_t* start;
  double* value;
  uint32_t* column;
};

// A bijection of the numbers below a power of two, and its inverse.
static uint64_t spread(uint64_t number, uint64_t mask) {
  return (number * UINT64_C(0x9e3779b97f4a7c15)) & mask;
}
static uint64_t gathered(uint64_t number, uint64_t mask) {
  return (number * UINT64_C(0xf1de83e19937733d)) & mask;
}

// The k-th neighbour, of which i is the k-th. Returns i if there is none.
static size_t neighbour(size_t i, unsigned k, size_t unknowns) {
  const uint64_t mask = unknowns - 1;
  const uint64_t other = gathered(spread(i, mask) ^ (mixed(k) & mask), mask);
  const uint64_t pair = (i < other ? i : other) * k_most_neighbours + k;
  return mixed(pair) % 4 == 0 ? i : other;
}

static void fill(struct matrix* matrix) {
  const size_t unknowns = matrix->unknowns;
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < unknowns; i++) {
    uint64_t entries = 1;
    for (unsigned k = 0; k < k_most_neighbours; k++)
      entries += neighbour(i, k, unknowns) != i;
    matrix->start[i + 1] = entries;
  }
  matrix->start[0] = 0;
  for (size_t i = 0; i < unknowns; i++)
    matrix->start[i + 1] += matrix->start[i];
  matrix->value = allocate(matrix->start[unknowns], sizeof *matrix->value);
  matrix->column = allocate(matrix->start[unknowns], sizeof *matrix->column);
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < unknowns; i++) {
    uint64_t at = matrix->start[i];
    matrix->column[at] = (uint32_t)i;
    matrix->value[at++] = (double)(matrix->start[i + 1] - matrix->start[i]);
    for (unsigned k = 0; k < k_most_neighbours; k++) {
      const size_t other = neighbour(i, k, unknowns);
      if (other == i) continue;
      matrix->column[at] = (uint32_t)other;
      matrix->value[at++] = -1;
    }
  }
}

// q = A p; returns p q.
static double multiply(const struct matrix* matrix, const double* p, double* q) {
  double product = 0;
#pragma omp parallel for schedule(static) reduction(+ : product)
  for (size_t i = 0; i < matrix->unknowns; i++) {
    double sum = 0;
    for (uint64_t e = matrix->start[i]; e < matrix->start[i + 1]; e++)
      sum += matrix->value[e] * p[matrix->column[e]];
    q[i] = sum;
    product += p[i] * sum;
  }
  return product;
}

// x += a p, r -= a q; returns r r.
static double advance(size_t unknowns, double a, const double* p, const double* q, double* x,
                      double* r) {
  double product = 0;
#pragma omp parallel for schedule(static) reduction(+ : product)
  for (size_t i = 0; i < unknowns; i++) {
    x[i] += a * p[i];
    r[i] -= a * q[i];
    product += r[i] * r[i];
  }
  return product;
}

static void turn(size_t unknowns, double b, const double* r, double* p) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < unknowns; i++)
    p[i] = r[i] + b * p[i];
}

static double right_side(size_t i) {
  return ((double)(mixed(i) & 255) - 127.5) / 256;
}

// x = 0, so that r = b; returns r r.
static double begin_anew(size_t unknowns, double* x, double* r, double* p) {
  double product = 0;
#pragma omp parallel for schedule(static) reduction(+ : product)
  for (size_t i = 0; i < unknowns; i++) {
    x[i] = 0;
    r[i] = p[i] = right_side(i);
    product += r[i] * r[i];
  }
  return product;
}

int main(int count, char** arguments) {
  struct work work = read_work(count, arguments);
  const size_t n = (size_t)work.size * k_unknowns;
  struct matrix matrix = {n, allocate(n + 1, sizeof *matrix.start), NULL, NULL};
  fill(&matrix);
  double* const x = allocate(n, sizeof *x);
  double* const r = allocate(n, sizeof *r);
  double* const p = allocate(n, sizeof *p);
  double* const q = allocate(n, sizeof *q);
  const double norm = sqrt(begin_anew(n, x, r, p));
  double squared = multiply(&matrix, p, q);

  while (next_step(&work)) {
    if (work.done % k_inner == 1) squared = begin_anew(n, x, r, p);
    const double a = squared / multiply(&matrix, p, q);
    const double next = advance(n, a, p, q, x, r);
    turn(n, next / squared, r, p);
    squared = next;
  }
  multiply(&matrix, x, q);
  double error = 0;
  for (size_t i = 0; i < n; i++)
    error = fmax(error, fabs(right_side(i) - q[i] - r[i]));
  if (sqrt(squared) > 0.5 * norm) error = INFINITY; // it must get nearer
  free(matrix.start), free(matrix.value), free(matrix.column), free(x), free(r), free(p), free(q);
  return report("cg", &work, error, 1e-9);
}
