// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sparse matrix times a vector, y = A x, with compressed rows (Saad, "Iterative Methods for
// Sparse Linear Systems", section 3.4): values and columns are streamed, x is gathered. It has
// twice as many columns as rows, at random places. Entries and x are made so that each y is known.
//
// usage: spmv [SIZE [STEPS]]
#include "whole_program.h"

#include <math.h>

enum { k_rows = 1 << 18, k_columns = 2 * k_rows, k_entries_of_each = 5 };

struct matrix {
  size_t rows, columns;
  uint64_t* start; // of each row, one more than there are
  double* value;
  uint32_t* column;
};

static size_t entries_of(size_t row) {
  return k_entries_of_each - 2 + row % 5;
}

// Rows come in fives of 25 entries.
static uint64_t start_of(size_t row) {
  uint64_t start = row / 5 * 5 * k_entries_of_each;
  for (size_t i = row / 5 * 5; i < row; i++)
    start += entries_of(i);
  return start;
}

static double x_of(size_t column) {
  return 1 + (double)(column & 1023);
}

static void fill(const struct matrix* matrix, double* x, double* y) {
#pragma omp parallel for schedule(static)
  for (size_t row = 0; row < matrix->rows; row++) {
    const uint64_t first = start_of(row);
    matrix->start[row] = first;
    for (uint64_t e = first; e < first + entries_of(row); e++) {
      matrix->column[e] = (uint32_t)(mixed(e) & (matrix->columns - 1));
      matrix->value[e] = (double)(row + 1) / x_of(matrix->column[e]);
    }
    y[row] = 0;
  }
  matrix->start[matrix->rows] = start_of(matrix->rows);
#pragma omp parallel for schedule(static)
  for (size_t column = 0; column < matrix->columns; column++)
    x[column] = x_of(column);
}

static void multiply(const struct matrix* matrix, const double* x, double* y) {
#pragma omp parallel for schedule(static)
  for (size_t row = 0; row < matrix->rows; row++) {
    double sum = 0;
    for (uint64_t e = matrix->start[row]; e < matrix->start[row + 1]; e++)
      sum += matrix->value[e] * x[matrix->column[e]];
    y[row] += sum;
  }
}

static double worst_error(const struct matrix* matrix, const double* y, long steps) {
  double worst = 0;
#pragma omp parallel for schedule(static) reduction(max : worst)
  for (size_t row = 0; row < matrix->rows; row++) {
    const double wanted = (double)(row + 1) * (double)entries_of(row) * (double)steps;
    worst = fmax(worst, fabs(y[row] / wanted - 1));
  }
  return worst;
}

int main(int count, char** arguments) {
  struct work work = read_work(count, arguments);
  struct matrix matrix = {(size_t)work.size * k_rows, (size_t)work.size * k_columns, NULL, NULL,
                          NULL};
  const size_t entries = start_of(matrix.rows);
  matrix.start = allocate(matrix.rows + 1, sizeof *matrix.start);
  matrix.value = allocate(entries, sizeof *matrix.value);
  matrix.column = allocate(entries, sizeof *matrix.column);
  double* const y = allocate(matrix.rows, sizeof *y);
  double* const x = allocate(matrix.columns, sizeof *x);
  fill(&matrix, x, y);

  while (next_step(&work))
    multiply(&matrix, x, y);
  const double error = worst_error(&matrix, y, work.done);
  free(matrix.start), free(matrix.value), free(matrix.column), free(x), free(y);
  return report("spmv", &work, error, 1e-9);
}
