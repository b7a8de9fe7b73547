// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parallel regions with inlined code right in front of them, which gcc mixes with the region's
// call: a clock's arithmetic, a vector's size. Each region's function and line are known here.
#include <chrono>
#include <cstdio>
#include <vector>

namespace {

double now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

struct Matrix {
  int n = 0;
  std::vector<int> first, column;
  std::vector<double> value;
};
double g_taken = 0;

__attribute__((noinline)) void multiply(const Matrix& a, const std::vector<double>& x,
                                        std::vector<double>& y) {
  const double begin = now();
#pragma omp parallel for // line 26
  for (int i = 0; i < a.n; ++i) {
    double sum = 0;
    for (int k = a.first[i]; k < a.first[i + 1]; ++k)
      sum += a.value[k] * x[a.column[k]];
    y[i] = sum;
  }
  g_taken += now() - begin;
}

// A part of the clock's arithmetic lands in front of the next region's call, and has no function of
// its own between it and main.
inline void tick(double& since, double& total) {
  const double at = now();
  total += at - since;
  since = at;
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  const int n = static_cast<int>(a.size());
  double sum = 0;
#pragma omp parallel for reduction(+ : sum) // line 47
  for (int i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

} // namespace

int main() {
  Matrix a;
  a.n = 200'000;
  for (int i = 0; i <= a.n; ++i)
    a.first.push_back(8 * i);
  for (int k = 0; k < 8 * a.n; ++k) {
    a.column.push_back(static_cast<int>(k * 7919LL % a.n));
    a.value.push_back(k % 7);
  }
  std::vector<double> x(a.n, 1), y(a.n);
  double sum = 0, since = now(), total = 0;
  for (int round = 0; round < 100; ++round) {
    multiply(a, x, y);
    tick(since, total);
    sum += dot(x, y);
    x[round] = sum / 1e9;
  }
  std::printf("%g\n", sum);
  std::fprintf(stderr, "%g and %g s\n", g_taken, total);
}
