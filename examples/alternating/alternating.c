/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * alternating: two arrays that do not fit into fast memory together and are hot in turn, each in a
 * parallel region of its own. No fixed placement serves both; moving pages between the regions
 * does, if each visit is long enough to pay for the move.
 *
 * The work on an array is a fixed number of walks, each a function of its number alone, so the
 * checksum depends on neither threads nor placement. Pattern "random": each load's address depends
 * on the value loaded before, so the time is memory latency. Pattern "stream": each walk reads its
 * share of the array in order, so the time is bandwidth. With --compute, all threads compute after
 * each visit without accessing memory.
 *
 * Built alone: clang-19 -O2 -fopenmp -I ../../include alternating.c options.c -o alternating
 */
#include "options.h"

#include "../array_memory.h"
#include "../extended_runtime.h"
#include "../virtual_machine.h"

#include <inttypes.h>
#include <ompx_memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { k_walks = 64, k_words_per_line = 8 };

typedef struct {
  uint64_t* words;
  size_t count; /* a multiple of k_walks * k_words_per_line */
  double seconds;
  uint64_t checksum;
} hot_array;

typedef struct {
  alternating_options options;
  hot_array a, b;
  uint64_t computed;
  /* ompx_get_placement, if --where is given */
  int (*get_placement)(const void* address, size_t bytes, ompx_placement_t* result);
} program;

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

/* Loads one word of as many random lines as a walk's share of the array has. Each address depends
 * on the value before. */
static uint64_t walk_at_random(const hot_array* array, uint64_t start) {
  const size_t lines = array->count / k_words_per_line;
  uint64_t value = mix(start), sum = 0;
  for (size_t step = 0; step < lines / k_walks; ++step) {
    /* the upper half of the value selects a line without a division */
    const size_t line = (size_t)(((value >> 32) * lines) >> 32);
    value = mix(value ^ array->words[line * k_words_per_line]);
    sum += value;
  }
  return sum;
}

/* Each visit mixes another number into the words, so that no compiler reuses an earlier visit. */
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

/* Prints the array's bytes by kind of memory, as the kernel has its pages now. */
static void print_where(const program* all, char name, const hot_array* array) {
  ompx_placement_t placement;
  placement.struct_size = sizeof placement;
  if (all->get_placement(array->words, array->count * sizeof *array->words, &placement) != 0)
    return;
  printf(" %c dram %zu hbm %zu nvm %zu cxl %zu", name, placement.bytes[ompx_kind_dram],
         placement.bytes[ompx_kind_hbm], placement.bytes[ompx_kind_nvm],
         placement.bytes[ompx_kind_cxl]);
}

/* Called by one thread in a region while the others wait. Returns the seconds that the query took,
 * which are not counted as work, nor charged by the model of memory time. */
static double query_where(const program* all, char region, int round) {
  if (all->get_placement == NULL) return 0;
  if (all->options.mark) example_measure_end();
  const double start = omp_get_wtime();
  printf("where round %d region %c", round, region);
  print_where(all, 'a', &all->a);
  print_where(all, 'b', &all->b);
  printf("\n");
  const double seconds = omp_get_wtime() - start;
  if (all->options.mark) example_measure_begin();
  return seconds;
}

/* The two regions. They are alike, but two functions with a parallel construct each, like the
 * phases of a real program. */
__attribute__((noinline)) static void work_on_a(program* all, int round) {
  uint64_t sum = 0;
  double query_seconds = 0;
  const double start = omp_get_wtime();
#pragma omp parallel reduction(+ : sum)
  {
#pragma omp single
    query_seconds = query_where(all, 'a', round);
#pragma omp for schedule(dynamic, 1)
    for (size_t number = 0; number < k_walks; ++number)
      sum += walk(&all->a, &all->options, number, round);
  }
  all->a.seconds = omp_get_wtime() - start - query_seconds;
  all->a.checksum += mix(sum + 1);
}

__attribute__((noinline)) static void work_on_b(program* all, int round) {
  uint64_t sum = 0;
  double query_seconds = 0;
  const double start = omp_get_wtime();
#pragma omp parallel reduction(+ : sum)
  {
#pragma omp single
    query_seconds = query_where(all, 'b', round);
#pragma omp for schedule(dynamic, 1)
    for (size_t number = 0; number < k_walks; ++number)
      sum += walk(&all->b, &all->options, number, round);
  }
  all->b.seconds = omp_get_wtime() - start - query_seconds;
  all->b.checksum += mix(sum + 2);
}

/* --barriers: the same work in one region, in two functions with a barrier each. */

typedef struct {
  uint64_t sum;
  int arrived;
  double since; /* when the visit before ended */
} team_visit;

/* Each thread's share of a visit. The last one to come here ends the visit, while the others wait
 * at the barrier that follows. What memory moves there counts for the next visit. */
static void work_in_team(program* all, hot_array* array, char name, uint64_t salt, int round,
                         team_visit* visit) {
  uint64_t sum = 0;
  int arrived;
#pragma omp for schedule(dynamic, 1) nowait
  for (size_t number = 0; number < k_walks; ++number)
    sum += walk(array, &all->options, number, round);
#pragma omp atomic
  visit->sum += sum;
#pragma omp atomic capture seq_cst
  arrived = ++visit->arrived;
  if (arrived < omp_get_num_threads()) return;
  array->seconds += omp_get_wtime() - visit->since;
  array->checksum += mix(visit->sum + salt);
  query_where(all, name, round);
  *visit = (team_visit){.since = omp_get_wtime()};
}

__attribute__((noinline)) static void team_works_on_a(program* all, int round, team_visit* visit) {
  work_in_team(all, &all->a, 'a', 1, round, visit);
#pragma omp barrier
}

__attribute__((noinline)) static void team_works_on_b(program* all, int round, team_visit* visit) {
  work_in_team(all, &all->b, 'b', 2, round, visit);
#pragma omp barrier
}

static void run_in_one_region(program* all) {
  team_visit visit = {.since = omp_get_wtime()};
#pragma omp parallel
  for (int round = 0; round < all->options.rounds; ++round) {
    team_works_on_a(all, round, &visit);
    team_works_on_b(all, round, &visit);
  }
}

/* A region of its own, too. */
__attribute__((noinline)) static void compute(program* all) {
  uint64_t sum = 0;
  const uint64_t steps = (uint64_t)all->options.compute * 1000000;
#pragma omp parallel reduction(+ : sum)
  {
    uint64_t value = 1;
    for (uint64_t step = 0; step < steps; ++step)
      value = mix(value + step);
    sum += value & 1;
  }
  all->computed += sum;
}

/* The thread that fills a page touches it first. */
static void fill(hot_array* array, uint64_t seed) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < array->count; ++i)
    array->words[i] = mix(seed + i);
}

static void run_in_regions(program* all) {
  double total_a = 0, total_b = 0;
  for (int round = 0; round < all->options.rounds; ++round) {
    work_on_a(all, round);
    if (all->options.compute > 0) compute(all);
    work_on_b(all, round);
    if (all->options.compute > 0) compute(all);
    printf("round %d a_seconds %.6f b_seconds %.6f\n", round, all->a.seconds, all->b.seconds);
    total_a += all->a.seconds;
    total_b += all->b.seconds;
  }
  all->a.seconds = total_a;
  all->b.seconds = total_b;
}

static void run(program* all) {
  int marked = 0;
  if (all->options.mark) marked = example_measure_begin();
  const double start = omp_get_wtime();
  if (all->options.barriers)
    run_in_one_region(all);
  else
    run_in_regions(all);
  const double whole = omp_get_wtime() - start;
  if (all->options.mark) example_measure_end();
  printf("marked %s\n", marked ? "yes" : "no");
  if (all->options.compute > 0)
    printf("whole_seconds %.6f\ncomputed %" PRIu64 "\n", whole, all->computed);
  printf("a_seconds %.6f\nb_seconds %.6f\ntotal_seconds %.6f\n", all->a.seconds, all->b.seconds,
         all->a.seconds + all->b.seconds);
  printf("checksum %016" PRIx64 "\n", all->a.checksum + all->b.checksum);
}

/* Returns 0 if the runtime is not OMPTier's, which alone has this function. */
static int find_get_placement(program* all) {
  void* function = extended_runtime_function("ompx_get_placement");
  memcpy(&all->get_placement, &function, sizeof function);
  return function != NULL;
}

int main(int argc, char** argv) {
  program all = {.get_placement = NULL};
  const int refused = read_alternating_options(argc, argv, &all.options);
  if (refused >= 0) return refused;
  if (all.options.mark) example_measure_end(); /* the launcher may have switched it on */
  if (all.options.threads > 0) omp_set_num_threads(all.options.threads);
  if (all.options.where && !find_get_placement(&all)) {
    fprintf(stderr,
            "alternating: --where needs OMPTier's OpenMP runtime; start it by omptier run\n");
    return 2;
  }

  const size_t step = (size_t)k_walks * k_words_per_line;
  hot_array *a = &all.a, *b = &all.b;
  a->count = b->count = all.options.bytes / sizeof(uint64_t) / step * step;
  a->words = ARRAY_ALLOC(a->count * sizeof *a->words, omp_default_mem_alloc);
  b->words = ARRAY_ALLOC(b->count * sizeof *b->words, omp_default_mem_alloc);
  int status = 0;
  if (a->words == NULL || b->words == NULL) {
    fprintf(stderr, "alternating: cannot allocate twice %zu bytes; ask for fewer --bytes\n",
            a->count * sizeof *a->words);
    status = 2;
  } else {
    fill(a, 1);
    fill(b, 2);
    printf("bytes_a %zu\nbytes_b %zu\n", a->count * sizeof *a->words, b->count * sizeof *b->words);
    printf("pattern %s\nrounds %d\nsweeps %d\nthreads %d\n",
           all.options.random ? "random" : "stream", all.options.rounds, all.options.sweeps,
           omp_get_max_threads());
    run(&all);
  }
  ARRAY_FREE(b->words, omp_default_mem_alloc);
  ARRAY_FREE(a->words, omp_default_mem_alloc);
  return status;
}
