// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hot_and_streamed HOT,STREAMED[/HOT,STREAMED…] [ITERATIONS]: 8 MiB that all threads read at random
// and 32 MiB that they stream, each on the given NUMA node. Measures placements by hand: the random
// data needs low latency, the streamed data bandwidth. Placements, separated by slashes in one
// argument such as 0,1/0,0/0,2, run interleaved; prints each one's median and fastest guest
// seconds per iteration.
#include "borders/model_marks.h"
#include "guest_memory.h"

#include <omp.h>
#include <stdbool.h>

enum {
  k_most_placements = 16,
  k_most_iterations = 32,
  k_hot_bytes = 8 << 20,
  k_streamed_bytes = 32 << 20,
  k_random_loads = 20000 // all threads together, each iteration
};

struct placement {
  int hot_node, streamed_node;
  const uint64_t* hot;
  const double* streamed;
  double seconds[k_most_iterations];
};

static double run(const struct placement* p, int iteration) {
  double sum = 0;
  int each = k_random_loads / omp_get_max_threads();
#pragma omp parallel reduction(+ : sum)
  {
    uint64_t state = (uint64_t)(omp_get_thread_num() * 7919 + iteration * 31 + 1);
    for (int i = 0; i < each; i++)
      sum += (double)p->hot[next_random(&state) % (k_hot_bytes / sizeof *p->hot)];
  }
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (size_t i = 0; i < k_streamed_bytes / sizeof *p->streamed; i++)
    sum += p->streamed[i];
  return sum;
}

int main(int count, char** arguments) {
  static struct placement placements[k_most_placements];
  int placement_count = 0, iterations = count > 2 ? atoi(arguments[2]) : 3;
  char* rest = count > 1 ? arguments[1] : NULL;
  for (char* word; rest && (word = strsep(&rest, "/"));) {
    struct placement* p = &placements[placement_count];
    bool good = placement_count < k_most_placements &&
                sscanf(word, "%d,%d", &p->hot_node, &p->streamed_node) == 2;
    if (!good) placement_count = 0, rest = NULL;
    placement_count += good;
  }
  if (placement_count == 0 || iterations < 1 || iterations > k_most_iterations) {
    fprintf(stderr, "usage: hot_and_streamed HOT,STREAMED[/HOT,STREAMED...] [1-%d]\n",
            k_most_iterations);
    return 2;
  }
  omptier_model_off();
  for (struct placement* p = placements; p < placements + placement_count; p++) {
    p->hot = memory_on(p->hot_node, k_hot_bytes, 0);
    p->streamed = memory_on(p->streamed_node, k_streamed_bytes, 0);
  }
  double sum = run(&placements[0], 0); // starts the threads
  for (int i = 0; i < iterations; i++)
    for (struct placement* p = placements; p < placements + placement_count; p++) {
      omptier_model_reset();
      omptier_model_on();
      double start = seconds_now();
      sum += run(p, i);
      p->seconds[i] = seconds_now() - start;
      omptier_model_off();
    }
  double first = median(placements[0].seconds, iterations);
  for (struct placement* p = placements; p < placements + placement_count; p++) {
    double middle = median(p->seconds, iterations);
    printf("hot on node %d, streamed on node %d: seconds %.4f relative %.3f fastest %.4f\n",
           p->hot_node, p->streamed_node, middle, middle / first,
           least(p->seconds, iterations));
  }
  return sum == 0.5; // never
}
