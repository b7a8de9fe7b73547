// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// new and delete, a container, an exception: what a C++ program does to malloc.
#include <cstdio>
#include <stdexcept>
#include <vector>

static double sum_of(const double* values, int count) {
  double sum = 0;
  for (int round = 0; round < 3000; ++round)
    for (int i = 0; i < count; ++i)
      sum += values[i];
  return sum;
}

int main() {
  constexpr int k_length = 1 << 16;
  double* by_new = new double[k_length]();
  std::vector<double> in_vector(k_length, 2.0);
  int caught = 0;
  try {
    throw std::runtime_error("expected");
  } catch (const std::exception&) {
    caught = 1;
  }
  std::printf("%g %g %d\n", sum_of(by_new, k_length), sum_of(in_vector.data(), k_length), caught);
  delete[] by_new;
}
