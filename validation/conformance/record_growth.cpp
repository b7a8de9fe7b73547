// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A vector that grows by push_back, to blocks of 32 MiB, and a block of omp_alloc's. What is pushed
// takes its time, so that copying is short beside it on a busy machine, too.
#include <cmath>
#include <cstdio>
#include <omp.h>
#include <vector>

static double slowly(double value) {
  for (int i = 0; i < 12; ++i)
    value = std::sqrt(value + i);
  return value;
}

int main() {
  std::vector<double> values;
  for (int i = 0; i < 3'000'000; ++i)
    values.push_back(slowly(i));
  const long count = static_cast<long>(values.size());
  auto* sums = static_cast<double*>(omp_alloc(1 << 20, omp_default_mem_alloc));
  sums[0] = 0;
  double sum = 0;
  for (int round = 0; round < 10; ++round) {
#pragma omp parallel for reduction(+ : sum)
    for (long i = 0; i < count; ++i)
      sum += values[i];
    sums[0] += sum;
  }
  std::printf("%.3e\n", sums[0]);
  omp_free(sums, omp_default_mem_alloc);
}
