// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several arrays in one line, declared, assigned, or as members.
#include "truth.h"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

static double solve(std::size_t n) {
  std::vector<double> x(n), b(n + 1000), r(n + 2000), p(n + 3000), q(n + 4000);
  std::vector<double> copy(r), moved = b, filled{std::vector<double>(n + 5000, 1.0)};
  KEEP(&r);
  for (std::size_t i = 0; i < n; ++i) {
    r[i] = b[i] - x[i];
    q[i] = p[i] + copy[i] * moved[i] + filled[i];
  }
  NAME("x", 8 * n);
  NAME("b+moved", 8 * (n + 1000));
  NAME("r+copy", 8 * (n + 2000));
  NAME("p", 8 * (n + 3000));
  NAME("q", 8 * (n + 4000));
  NAME("filled", 8 * (n + 5000));
  return r[5] + q[6];
}

int main(int argc, char**) {
  const std::size_t n = 100000 * static_cast<std::size_t>(argc);
  double *u = new double[n + 6000], *v = static_cast<double*>(std::malloc(8 * (n + 7000)));
  float *first, *second;
  first = (float*)calloc(n + 8000, 4), second = (float*)calloc(n + 9000, sizeof(float));
  int* third; if ((third = (int*)malloc((n + 10000) * sizeof *third)) == nullptr) return 2;
  auto owned = std::make_unique<double[]>(n + 11000), also = std::make_unique<double[]>(n + 12000);
  std::unique_ptr<float[]> raw(new float[n + 13000]);
  auto* made = new std::vector<float>(n + 14000);
  KEEP(u);
  KEEP(v);
  KEEP(first);
  KEEP(second);
  KEEP(third);
  KEEP(owned.get());
  KEEP(also.get());
  KEEP(raw.get());
  KEEP(made->data());
  u[5] = v[6] = first[7] = second[8] = third[9] = owned[10] = also[11] = raw[12] = 1;
  NAME("u", 8 * (n + 6000));
  NAME("v", 8 * (n + 7000));
  NAME("first", 4 * (n + 8000));
  NAME("second", 4 * (n + 9000));
  NAME("third", 4 * (n + 10000));
  NAME("owned", 8 * (n + 11000));
  NAME("also", 8 * (n + 12000));
  NAME("raw", 4 * (n + 13000));
  NAME("made", 4 * (n + 14000));
  return solve(n) + u[5] + v[6] + first[7] + second[8] + third[9] + owned[10] + also[11] + raw[12] == 0.5;
}
