// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conjugate gradients on a cube of side^3 unknowns, 27 neighbours each, the matrix in compressed
// rows.
//
// usage: cg [side 90] [iterations 60] [--truth FILE [--alone]]
#include "truth.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

class Matrix {
public:
  explicit Matrix(long side)
      : rows_(side * side * side), starts_(rows_ + 1), columns_(27 * rows_), values_(27 * rows_) {
    long at = 0, row = 0;
    for (long z = 0; z < side; ++z)
      for (long y = 0; y < side; ++y)
        for (long x = 0; x < side; ++x, ++row) {
          for (long dz = -1; dz <= 1; ++dz)
            for (long dy = -1; dy <= 1; ++dy)
              for (long dx = -1; dx <= 1; ++dx) {
                const long nx = x + dx, ny = y + dy, nz = z + dz;
                if (nx < 0 || ny < 0 || nz < 0 || nx >= side || ny >= side || nz >= side) continue;
                columns_[at] = static_cast<int>((nz * side + ny) * side + nx);
                values_[at++] = dx == 0 && dy == 0 && dz == 0 ? 27.0 : -1.0;
              }
          starts_[row + 1] = static_cast<int>(at);
        }
  }

  void multiply(const std::vector<double>& in, std::vector<double>& out) const {
#pragma omp parallel for
    for (long row = 0; row < rows_; ++row) {
      double sum = 0;
      for (int k = starts_[row]; k < starts_[row + 1]; ++k)
        sum += values_[k] * in[columns_[k]];
      out[row] = sum;
    }
  }

  long rows() const { return rows_; }
  const std::vector<int>& starts() const { return starts_; }
  const std::vector<int>& columns() const { return columns_; }
  const std::vector<double>& values() const { return values_; }

private:
  long rows_;
  std::vector<int> starts_, columns_;
  std::vector<double> values_;
};

static double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

// The same loop with the loads of p and without: what they cost beside those of their indices.
static double gathered(const std::vector<int>& columns, const std::vector<double>& in, long count) {
  double one = 0, two = 0, three = 0, four = 0;
  for (long k = 0; k + 4 <= count; k += 4) {
    one += in[columns[k]];
    two += in[columns[k + 1]];
    three += in[columns[k + 2]];
    four += in[columns[k + 3]];
  }
  return one + two + three + four;
}

static double converted(const std::vector<int>& columns, long count) {
  double one = 0, two = 0, three = 0, four = 0;
  for (long k = 0; k + 4 <= count; k += 4) {
    one += columns[k];
    two += columns[k + 1];
    three += columns[k + 2];
    four += columns[k + 3];
  }
  return one + two + three + four;
}

int main(int argc, char** argv) {
  const double begin = truth_clock();
  const long side = truth_number(argc, argv, 1, 90);
  const int iterations = static_cast<int>(truth_number(argc, argv, 2, 60));

  const Matrix matrix(side);
  const double assembled = truth_clock();
  const std::size_t n = matrix.rows();
  std::vector<double> x(n), b(n), r(n), p(n), q(n);
  for (std::size_t i = 0; i < n; ++i)
    b[i] = 1.0 + static_cast<double>(i % 7);
  r = b;
  p = r;
  const double filled = truth_clock();

  double multiplying = 0;
  double old_norm = dot(r, r);
  for (int i = 0; i < iterations; ++i) {
    const double before = truth_clock();
    matrix.multiply(p, q);
    multiplying += truth_clock() - before;
    const double alpha = old_norm / dot(p, q);
#pragma omp parallel for
    for (std::size_t j = 0; j < n; ++j) {
      x[j] += alpha * p[j];
      r[j] -= alpha * q[j];
    }
    const double norm = dot(r, r), beta = norm / old_norm;
    old_norm = norm;
#pragma omp parallel for
    for (std::size_t j = 0; j < n; ++j)
      p[j] = r[j] + beta * p[j];
  }
  const double end = truth_clock();
  std::printf("residual %g after %d iterations\n", std::sqrt(old_norm), iterations);

  const char* file = truth_option(argc, argv, "--truth");
  if (file == nullptr) return 0;
  const std::size_t room = 27 * n, entries = matrix.starts()[n];
  const int values = truth_object("values_", 8 * room, 1, TRUTH_SEQUENTIAL);
  const int columns = truth_object("columns_", 4 * room, 1, TRUTH_SEQUENTIAL);
  const int starts = truth_object("starts_", 4 * (n + 1), 1, TRUTH_SEQUENTIAL);
  const int vector_p = truth_object("p", 8 * n, 1, TRUTH_INDIRECT);
  const int vector_q = truth_object("q", 8 * n, 1, TRUTH_SEQUENTIAL);
  const int vector_r = truth_object("r", 8 * n, 1, TRUTH_SEQUENTIAL);
  const int vector_x = truth_object("x", 8 * n, 1, TRUTH_SEQUENTIAL);
  const int vector_b = truth_object("b", 8 * n, 1, TRUTH_SEQUENTIAL);
  truth_through(vector_p, "columns_");
  if (12 * entries > 2 * truth_last_level_cache()) {
    truth_from_cache(values, 0);
    truth_from_cache(columns, 0);
  }

  const double it = iterations, size = 8.0 * static_cast<double>(n),
               all = static_cast<double>(entries);
  const int assembly = truth_loop("assembly", assembled - begin);
  const double both =
      27.0 * static_cast<double>(n) + all; // emptied by the constructor, then written
  truth_weight(truth_use(assembly, values, 0, 8 * both), 8 * both);
  truth_weight(truth_use(assembly, columns, 0, 4 * both), 4 * both);
  truth_weight(truth_use(assembly, starts, 0, size), size);
  const int filling = truth_loop("filling", filled - assembled);
  truth_weight(truth_use(filling, vector_x, 0, size), size);
  truth_weight(truth_use(filling, vector_b, size, 2 * size), 3 * size);
  truth_weight(truth_use(filling, vector_r, size, 2 * size), 3 * size);
  truth_weight(truth_use(filling, vector_p, 0, 2 * size), 2 * size);
  truth_weight(truth_use(filling, vector_q, 0, size), size);
  const int multiply = truth_loop("multiply", multiplying);
  const int use_values = truth_use(multiply, values, it * 8 * all, 0);
  const int use_columns = truth_use(multiply, columns, it * 4 * all, 0);
  const int use_starts = truth_use(multiply, starts, it * size / 2, 0);
  const int use_p = truth_use(multiply, vector_p, it * 8 * all, 0);
  const int use_q = truth_use(multiply, vector_q, 0, it * size);
  const int updates = truth_loop("updates", end - filled - multiplying);
  const int late_p = truth_use(updates, vector_p, it * 3 * size, it * size);
  const int late_q = truth_use(updates, vector_q, it * 2 * size, 0);
  const int late_r = truth_use(updates, vector_r, it * 4 * size, it * size);
  const int late_x = truth_use(updates, vector_x, it * size, it * size);
  volatile double sink = 0;
  for (int round = 0; truth_option(argc, argv, "--alone") != nullptr && round < 5; ++round) {
    truth_alone(use_values, truth_read_lines(matrix.values().data(), 8 * entries));
    truth_alone(use_columns, truth_read_lines(matrix.columns().data(), 4 * entries));
    const double start = truth_clock();
    sink = converted(matrix.columns(), static_cast<long>(entries));
    const double indices = truth_clock();
    sink = gathered(matrix.columns(), p, static_cast<long>(entries));
    truth_alone(use_p, truth_clock() - indices - (indices - start));
    truth_alone(use_starts, truth_read_lines(matrix.starts().data(), 4 * n));
    truth_alone(use_q, truth_write_lines(q.data(), 8 * n));
    const auto reads = [&](const std::vector<double>& all) {
      return truth_read_lines(all.data(), 8 * n);
    };
    const auto writes = [&](std::vector<double>& all) {
      return truth_write_lines(all.data(), 8 * n);
    };
    truth_alone(late_q, 2 * reads(q));
    truth_alone(late_p, 2 * reads(p) + writes(p));
    truth_alone(late_r, 3 * reads(r) + writes(r));
    truth_alone(late_x, writes(x));
  }
  (void)sink;
  return truth_write(file, "cg") == 0 ? 0 : 1;
}
