/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * alternating: two arrays that do not fit into fast memory together and are hot in turn, each in a
 * parallel region of its own. No placement that is fixed for the whole run serves both; one that
 * moves pages between the regions does, once each visit is long enough to pay for the move.
 *
 * The work on an array is a fixed number of walks, each a function of its number alone, so the
 * checksum depends on neither threads nor placement. Pattern "random": each load's address depends
 * on the value loaded before, so nothing but the latency of memory counts. Pattern "stream": each
 * walk reads its share of the array from end to end, so bandwidth counts.
 *
 * Built alone: clang-19 -O2 -fopenmp alternating.c options.c -o alternating
 */
#include "options.h"

#include "../virtual_machine.h"

#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { k_walks = 64, k_words_per_line = 8 };

typedef struct {
  uint64_t* words;
  size_t count; /* a multiple of k_walks * k_words_per_line */
  double seconds;
  uint64_t checksum;
} hot_array;

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

/* Loads one word of as many random lines as a walk's share of the array has, each address from the
 * value before. */
static uint64_t walk_at_random(const hot_array* array, uint64_t start) {
  const size_t lines = array->count / k_words_per_line;
  uint64_t value = mix(start), sum = 0;
  for (size_t step = 0; step < lines / k_walks; ++step) {
    /* the upper half of value picks a line without a division */
    const size_t line = (size_t)(((value >> 32) * lines) >> 32);
    value = mix(value ^ array->words[line * k_words_per_line]);
    sum += value;
  }
  return sum;
}

/* Each visit reads something else into the words, or a compiler would read them once for all. */
static uint64_t walk_in_order(const hot_array* array, size_t number, uint64_t visit) {
  const size_t share = array->count / k_walks;
  uint64_t sum = 0;
  for (size_t i = number * share; i < (number + 1) * share; ++i)
    sum += array->words[i] ^ visit;
  return sum;
}

static uint64_t walk(const hot_array* array, const alternating_options* options, size_t number,
                     int round) {
  uint64_t sum = 0;
  for (int sweep = 0; sweep < options->sweeps; ++sweep) {
    const uint64_t visit = (uint64_t)round * (uint64_t)options->sweeps + (uint64_t)sweep;
    sum += options->random ? walk_at_random(array, visit * k_walks + number)
                           : walk_in_order(array, number, visit);
  }
  return sum;
}

/* The two regions. They are alike, but two functions with a parallel construct each, as the phases
 * of a real program are. */
__attribute__((noinline)) static void work_on_a(hot_array* a, const alternating_options* options,
                                                int round) {
  uint64_t sum = 0;
  const double start = omp_get_wtime();
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum)
  for (size_t number = 0; number < k_walks; ++number)
    sum += walk(a, options, number, round);
  a->seconds = omp_get_wtime() - start;
  a->checksum += mix(sum + 1);
}

__attribute__((noinline)) static void work_on_b(hot_array* b, const alternating_options* options,
                                                int round) {
  uint64_t sum = 0;
  const double start = omp_get_wtime();
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum)
  for (size_t number = 0; number < k_walks; ++number)
    sum += walk(b, options, number, round);
  b->seconds = omp_get_wtime() - start;
  b->checksum += mix(sum + 2);
}

/* Every page is first touched by the thread that fills it. */
static void fill(hot_array* array, uint64_t seed) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < array->count; ++i)
    array->words[i] = mix(seed + i);
}

static int run(const alternating_options* options, hot_array* a, hot_array* b) {
  double total_a = 0, total_b = 0;
  int marked = 0;
  if (options->mark) marked = example_measure_begin();
  const double start = omp_get_wtime();
  for (int round = 0; round < options->rounds; ++round) {
    work_on_a(a, options, round);
    work_on_b(b, options, round);
    printf("round %d a_seconds %.6f b_seconds %.6f\n", round, a->seconds, b->seconds);
    total_a += a->seconds;
    total_b += b->seconds;
  }
  const double total = omp_get_wtime() - start;
  if (options->mark) example_measure_end();
  printf("marked %s\n", marked ? "yes" : "no");
  printf("a_seconds %.6f\nb_seconds %.6f\ntotal_seconds %.6f\n", total_a, total_b, total);
  printf("checksum %016" PRIx64 "\n", a->checksum + b->checksum);
  return 0;
}

int main(int argc, char** argv) {
  alternating_options options;
  const int refused = read_alternating_options(argc, argv, &options);
  if (refused >= 0) return refused;
  if (options.threads > 0) omp_set_num_threads(options.threads);

  const size_t step = (size_t)k_walks * k_words_per_line;
  hot_array a = {NULL, options.bytes / sizeof(uint64_t) / step * step, 0, 0};
  hot_array b = a;
  a.words = omp_alloc(a.count * sizeof *a.words, omp_default_mem_alloc);
  b.words = omp_alloc(b.count * sizeof *b.words, omp_default_mem_alloc);
  int status = 2;
  if (a.words == NULL || b.words == NULL) {
    fprintf(stderr, "alternating: cannot allocate twice %zu bytes; ask for fewer --bytes\n",
            a.count * sizeof *a.words);
  } else {
    fill(&a, 1);
    fill(&b, 2);
    printf("bytes_a %zu\nbytes_b %zu\n", a.count * sizeof *a.words, b.count * sizeof *b.words);
    printf("pattern %s\nrounds %d\nsweeps %d\nthreads %d\n", options.random ? "random" : "stream",
           options.rounds, options.sweeps, omp_get_max_threads());
    status = run(&options, &a, &b);
  }
  omp_free(b.words, omp_default_mem_alloc);
  omp_free(a.words, omp_default_mem_alloc);
  return status;
}
