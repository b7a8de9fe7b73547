// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++ as it is written: new, vector, make_unique; filled by OpenMP threads. See preload_cases.c for
// the arguments.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

void on_node(const void* begin, std::size_t bytes, int node, const char* what) {
  const auto from = (reinterpret_cast<std::uintptr_t>(begin) + 4095) & ~std::uintptr_t{4095};
  for (std::uintptr_t at = from; node >= 0 && at + 4096 <= from + bytes - 4096; at += 4096) {
    void* page = reinterpret_cast<void*>(at);
    int status = -1;
    syscall(SYS_move_pages, 0, 1ul, &page, nullptr, &status, 0);
    if (status == node) continue;
    std::fprintf(stderr, "preload_cases: %s: node %d, wanted %d\n", what, status, node);
    std::_Exit(1);
  }
}

} // namespace

int main(int argc, char** argv) {
  const int hot = argc > 1 ? std::atoi(argv[1]) : -1, cold = argc > 2 ? std::atoi(argv[2]) : -1;
  constexpr std::size_t count = 400'000;
  double sum = 0;
  for (int round = 0; round < 3; ++round) {
    double* hot_new = new double[count];
    std::vector<double> cold_vector(count, 1.0);
    const auto hot_unique = std::make_unique<double[]>(count);
#pragma omp parallel for
    for (std::size_t i = 0; i < count; ++i) {
      hot_new[i] = static_cast<double>(i % 7);
      hot_unique[i] = cold_vector[i] + hot_new[i];
    }
    on_node(hot_new, count * sizeof(double), hot, "new");
    on_node(cold_vector.data(), count * sizeof(double), cold, "vector");
    on_node(hot_unique.get(), count * sizeof(double), hot, "make_unique");
    sum += std::accumulate(hot_unique.get(), hot_unique.get() + count, 0.0);
    cold_vector.resize(2 * count, 2.0);
    sum += cold_vector[0] + cold_vector.back();
    delete[] hot_new;
    sum += static_cast<double>(std::string(100'000, 'x').size());
  }
  std::printf("preload_cases holds, %.0f\n", sum);
  return 0;
}
