// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conjugate gradients whose matrix has a small block for each row: 27 values and 27 columns from
// new.
//
// usage: rows [side 80] [iterations 80] [--truth FILE [--alone]]
#include "truth.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Matrix {
  long rows;
  double** values;
  int** columns;
  int* entries; // of each row
  double all = 0;

  explicit Matrix(long side) : rows(side * side * side) {
    values = new double*[rows];
    columns = new int*[rows];
    entries = new int[rows];
    for (long row = 0; row < rows; ++row) {
      values[row] = new double[27];
      columns[row] = new int[27];
      entries[row] = 0;
      const long x = row % side, y = row / side % side, z = row / (side * side);
      for (long k = 0; k < 27; ++k) {
        const long nx = x + k % 3 - 1, ny = y + k / 3 % 3 - 1, nz = z + k / 9 - 1;
        if (nx < 0 || ny < 0 || nz < 0 || nx >= side || ny >= side || nz >= side) continue;
        columns[row][entries[row]] = static_cast<int>((nz * side + ny) * side + nx);
        values[row][entries[row]++] = k == 13 ? 27.0 : -1.0;
      }
      all += entries[row];
    }
  }
  ~Matrix() {
    for (long row = 0; row < rows; ++row) {
      delete[] values[row];
      delete[] columns[row];
    }
    delete[] values;
    delete[] columns;
    delete[] entries;
  }

  void multiply(const double* in, double* out) const {
    for (long row = 0; row < rows; ++row) {
      const double* value = values[row];
      const int* column = columns[row];
      double sum = 0;
      for (int k = 0; k < entries[row]; ++k)
        sum += value[k] * in[column[k]];
      out[row] = sum;
    }
  }
};

static double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

int main(int argc, char** argv) {
  const double begin = truth_clock();
  const long side = truth_number(argc, argv, 1, 80);
  const int iterations = static_cast<int>(truth_number(argc, argv, 2, 80));

  const Matrix matrix(side);
  const double assembled = truth_clock();
  const std::size_t n = matrix.rows;
  std::vector<double> x(n, 0.0), r(n, 1.0), p(r), q(n);
  const double filled = truth_clock();

  double multiplying = 0, norm = dot(r, r);
  for (int i = 0; i < iterations; ++i) {
    const double before = truth_clock();
    matrix.multiply(p.data(), q.data());
    multiplying += truth_clock() - before;
    const double alpha = norm / dot(p, q);
    for (std::size_t j = 0; j < n; ++j) {
      x[j] += alpha * p[j];
      r[j] -= alpha * q[j];
    }
    const double last = norm;
    norm = dot(r, r);
    for (std::size_t j = 0; j < n; ++j)
      p[j] = r[j] + norm / last * p[j];
  }
  const double end = truth_clock();
  std::printf("residual %g after %d iterations\n", std::sqrt(norm), iterations);

  const char* file = truth_option(argc, argv, "--truth");
  if (file == nullptr) return 0;
  const double rows = static_cast<double>(n), size = 8 * rows, times = iterations;
  const int value = truth_object("values[row]", 27 * sizeof(double), n, TRUTH_SEQUENTIAL);
  const int column = truth_object("columns[row]", 27 * sizeof(int), n, TRUTH_SEQUENTIAL);
  const int values = truth_object("values", 8 * n, 1, TRUTH_SEQUENTIAL);
  const int columns = truth_object("columns", 8 * n, 1, TRUTH_SEQUENTIAL);
  const int entries = truth_object("entries", 4 * n, 1, TRUTH_SEQUENTIAL);
  const int vector_x = truth_object("x", 8 * n, 1, TRUTH_SEQUENTIAL);
  const int vector_r = truth_object("r", 8 * n, 1, TRUTH_SEQUENTIAL);
  const int vector_p = truth_object("p", 8 * n, 1, TRUTH_INDIRECT);
  const int vector_q = truth_object("q", 8 * n, 1, TRUTH_SEQUENTIAL);
  truth_through(vector_p, "columns[row]");

  const auto use = [](int loop, int object, double read, double written) {
    truth_weight(truth_use(loop, object, read, written), read + written);
  };
  const int assembly = truth_loop("assembly", assembled - begin);
  truth_allocates(assembly);
  truth_weight(truth_use(assembly, value, 0, 8 * matrix.all), 27 * 8); // by the memory a row takes
  truth_weight(truth_use(assembly, column, 0, 4 * matrix.all), 27 * 4);
  truth_weight(truth_use(assembly, values, size, size), 8);
  truth_weight(truth_use(assembly, columns, size, size), 8);
  truth_weight(truth_use(assembly, entries, 4 * matrix.all, 4 * (matrix.all + rows)), 4);
  const int filling = truth_loop("filling", filled - assembled);
  for (const int one : {vector_x, vector_r, vector_q})
    use(filling, one, one == vector_r ? size : 0, size);
  use(filling, vector_p, 0, size);
  const int multiply = truth_loop("multiply", multiplying);
  const int use_value = truth_use(multiply, value, times * 8 * matrix.all, 0);
  const int use_column = truth_use(multiply, column, times * 4 * matrix.all, 0);
  const int use_p = truth_use(multiply, vector_p, times * 8 * matrix.all, 0);
  const int few[] = {truth_use(multiply, values, times * size, 0),
                     truth_use(multiply, columns, times * size, 0),
                     truth_use(multiply, entries, times * size / 2, 0),
                     truth_use(multiply, vector_q, 0, times * size)};
  const int updates = truth_loop("updates", end - filled - multiplying);
  use(updates, vector_p, times * 3 * size, times * size);
  use(updates, vector_q, times * 2 * size, 0);
  use(updates, vector_r, times * 4 * size, times * size);
  use(updates, vector_x, times * size, times * size);
  volatile double sink = 0;
  for (int round = 0; truth_option(argc, argv, "--alone") != nullptr && round < 5; ++round) {
    double sum = 0; // the blocks line by line, so that memory counts and not the sum
    long whole = 0;
    const double start = truth_clock();
    for (std::size_t i = 0; i < n; ++i)
      sum +=
          matrix.values[i][0] + matrix.values[i][8] + matrix.values[i][16] + matrix.values[i][24];
    const double read = truth_clock();
    for (std::size_t i = 0; i < n; ++i)
      whole += matrix.columns[i][0] + matrix.columns[i][16];
    const double read_columns = truth_clock();
    for (std::size_t i = 0; i < n;
         ++i) { // a part of the loads of p, which are all alike: without, and with
      const int* at = matrix.columns[i];
      whole += (at[0] + at[1]) + (at[2] + at[3]) + (at[4] + at[5]);
    }
    const double indices = truth_clock();
    for (std::size_t i = 0; i < n; ++i) {
      const int* at = matrix.columns[i];
      sum += (p[at[0]] + p[at[1]]) + (p[at[2]] + p[at[3]]) + (p[at[4]] + p[at[5]]);
    }
    const double gathered = truth_clock();
    sink = sum + static_cast<double>(whole);
    truth_alone(use_value, read - start);
    truth_alone(use_column, read_columns - read);
    truth_alone(use_p, 27.0 / 6 * (gathered - indices - (indices - read_columns)));
    for (const int one : few)
      truth_alone(one, truth_read_lines(q.data(), one == few[2] ? 4 * n : 8 * n));
  }
  (void)sink;
  return truth_write(file, "rows") == 0 ? 0 : 1;
}
