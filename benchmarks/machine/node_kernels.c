// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// node_kernels NODES [MIB [REPEATS]]: four access patterns with all data on one NUMA node, for each
// node of a list such as 0,1,2: triad (all threads stream, two reads and a write), chase (one
// thread, each load depends on the one before), gather (all threads, random loads), fill (all
// threads stream writes).
//
// Meant for the timed virtual machine, where only ratios mean anything: repeats are interleaved
// over the nodes. One line per pattern and node gives the median in guest seconds, the median and
// range of the ratio to the list's first node in the same repeat, and the fastest repeat's seconds.
#include "borders/model_marks.h"
#include "guest_memory.h"

#include <omp.h>

enum { k_most_nodes = 16, k_most_repeats = 32, k_patterns = 4 };
enum { k_chase_steps = 20000, k_gather_steps = 40000 }; // the fastest gather takes 0.2 guest seconds
static const char* const k_names[k_patterns] = {"triad", "chase", "gather", "fill"};

struct data {
  size_t count; // doubles in each array
  double *a, *b, *c;
  uint64_t* chain; // one random cycle through all cache lines
};

static struct data make_data(int node, size_t bytes) {
  struct data data = {bytes / sizeof(double), memory_on(node, bytes, 0), memory_on(node, bytes, 0),
                      memory_on(node, bytes, 0), memory_on(node, bytes, 0)};
  size_t lines = bytes / 64;
  uint32_t* order = malloc(lines * sizeof *order);
  if (!order) give_up("malloc");
  for (size_t i = 0; i < lines; i++)
    order[i] = (uint32_t)i;
  uint64_t state = 12345;
  for (size_t i = lines - 1; i > 0; i--) { // Sattolo: one cycle
    size_t j = next_random(&state) % i;
    uint32_t swapped = order[i];
    order[i] = order[j];
    order[j] = swapped;
  }
  for (size_t i = 0; i < lines; i++)
    data.chain[i * 8] = order[i];
  free(order);
  return data;
}

static double g_sink; // keeps the compiler from dropping results

static void run_triad(const struct data* d) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < d->count; i++)
    d->a[i] = d->b[i] + 3.0 * d->c[i];
}

static void run_chase(const struct data* d) {
  uint64_t at = 0;
  for (int i = 0; i < k_chase_steps; i++)
    at = d->chain[at * 8];
  g_sink += (double)at;
}

static void run_gather(const struct data* d) {
  double sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    uint64_t state = (uint64_t)omp_get_thread_num() * 7919 + 1;
    for (int i = 0; i < k_gather_steps; i++)
      sum += d->b[next_random(&state) % d->count];
  }
  g_sink += sum;
}

static void run_fill(const struct data* d) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < d->count; i++)
    d->a[i] = (double)i;
}

static double time_pattern(int pattern, const struct data* data) {
  static void (*const run[k_patterns])(const struct data*) = {run_triad, run_chase, run_gather,
                                                              run_fill};
  omptier_model_reset();
  omptier_model_on();
  double start = seconds_now();
  run[pattern](data);
  double taken = seconds_now() - start;
  omptier_model_off();
  return taken;
}

static void print_pattern(int pattern, int node, double* seconds, const double* first,
                          int repeats) {
  double ratios[k_most_repeats];
  for (int r = 0; r < repeats; r++)
    ratios[r] = seconds[r] / first[r];
  double fastest = least(seconds, repeats);
  double middle = median(ratios, repeats); // sorts
  printf("%-6s node %d seconds %.4f relative %.3f (%.3f-%.3f) fastest %.4f\n", k_names[pattern],
         node, median(seconds, repeats), middle, ratios[0], ratios[repeats - 1], fastest);
}

int main(int count, char** arguments) {
  int nodes[k_most_nodes], node_count = 0;
  if (count < 2) {
    fprintf(stderr, "usage: node_kernels NODES [MIB [REPEATS]], e.g. node_kernels 0,1,2 16 3\n");
    return 2;
  }
  for (char* word = strtok(arguments[1], ","); word && node_count < k_most_nodes;
       word = strtok(NULL, ","))
    nodes[node_count++] = atoi(word);
  size_t bytes = (size_t)(count > 2 ? atoi(arguments[2]) : 16) << 20;
  int repeats = count > 3 ? atoi(arguments[3]) : 3;
  if (node_count == 0 || bytes == 0 || bytes % k_huge_page || repeats < 1 ||
      repeats > k_most_repeats) {
    fprintf(stderr, "node_kernels: needs nodes, an even number of MiB, 1-%d repeats\n",
            k_most_repeats);
    return 2;
  }
  omptier_model_off();
  static struct data data[k_most_nodes];
  for (int n = 0; n < node_count; n++)
    data[n] = make_data(nodes[n], bytes);
  run_fill(&data[0]); // starts the threads
  static double seconds[k_patterns][k_most_nodes][k_most_repeats];
  for (int r = 0; r < repeats; r++)
    for (int p = 0; p < k_patterns; p++)
      for (int n = 0; n < node_count; n++)
        seconds[p][n][r] = time_pattern(p, &data[n]);
  printf("guest seconds, %d threads, %zu MiB an array, median of %d; relative to node %d\n",
         omp_get_max_threads(), bytes >> 20, repeats, nodes[0]);
  for (int p = 0; p < k_patterns; p++)
    for (int n = node_count - 1; n >= 0; n--) // the first node last, since median() sorts its times
      print_pattern(p, nodes[n], seconds[p][n], seconds[p][0], repeats);
  return g_sink == 0.5; // never
}
