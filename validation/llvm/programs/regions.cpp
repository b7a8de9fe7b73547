// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parallel constructs of every form gcc has an entry for, with barriers and tasks, two threads
// each. Each barrier is one call, from the primary thread's side.
#include <cstdio>
#include <vector>

#include <omp.h>

static long sum_of(const std::vector<long>& values) {
  long sum = 0;
  for (long value : values)
    sum += value;
  return sum;
}

int main() {
  omp_set_dynamic(0);
  std::vector<long> values(1000);
  // HOOK attach

#pragma omp parallel num_threads(2)
  // HOOK region_begin threads=2 from=program
  {
    values[static_cast<size_t>(omp_get_thread_num())] = 1;
#pragma omp barrier
    // HOOK barrier
    values[static_cast<size_t>(2 + omp_get_thread_num())] = 1;
  }
  // HOOK region_end from=program
  std::printf("plain %ld\n", sum_of(values));

#pragma omp parallel for num_threads(2) schedule(static)
  // HOOK region_begin threads=2 from=program
  for (int i = 0; i < 1000; i++)
    values[static_cast<size_t>(i)] = i;
  // HOOK region_end from=program
  std::printf("static %ld\n", sum_of(values));

#pragma omp parallel for num_threads(2) schedule(dynamic, 10)
  // HOOK region_begin threads=2 from=program
  for (int i = 0; i < 1000; i++)
    values[static_cast<size_t>(i)] = 2 * i;
  // HOOK region_end from=program
  std::printf("dynamic %ld\n", sum_of(values));

#pragma omp parallel for num_threads(2) schedule(guided)
  // HOOK region_begin threads=2 from=program
  for (int i = 0; i < 1000; i++)
    values[static_cast<size_t>(i)] += 1;
  // HOOK region_end from=program
  std::printf("guided %ld\n", sum_of(values));

#pragma omp parallel for num_threads(2) schedule(runtime)
  // HOOK region_begin threads=2 from=program
  for (int i = 0; i < 1000; i++)
    values[static_cast<size_t>(i)] += 1;
  // HOOK region_end from=program
  std::printf("runtime %ld\n", sum_of(values));

#pragma omp parallel sections num_threads(2)
  // HOOK region_begin threads=2 from=program
  {
#pragma omp section
    values[0] = 10;
#pragma omp section
    values[1] = 20;
  }
  // HOOK region_end from=program
  std::printf("sections %ld\n", values[0] + values[1]);

  long total = 0;
#pragma omp parallel num_threads(2)
  // HOOK region_begin threads=2 from=program
#pragma omp single nowait
  for (int i = 0; i < 100; i++) {
#pragma omp task firstprivate(i) shared(total)
#pragma omp atomic
    total += i;
  }
  // HOOK region_end from=program
  std::printf("tasks %ld\n", total);
  // HOOK runtime_end
}
