// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hash join of two relations, after the description of Balkesen et al. ("Main-memory hash joins
// on multi-core CPUs", ICDE 2013): both are divided into partitions by hash, a buffer for each
// relation; then the smaller one's partitions are put into a table of open addresses, and the
// larger one's tuples look their partners up. Each tuple of the larger one has exactly one, so the
// payloads' sum is known.
//
// usage: hashjoin [SIZE [STEPS]]
#include "whole_program.h"

#include <math.h>
#include <omp.h>

enum { k_small = 1 << 17, k_larger = 4, k_partitions = 64, k_most_threads = 256 };

struct tuple {
  uint64_t key, payload;
};

struct relation {
  size_t tuples;
  struct tuple *given, *divided;
  size_t first[k_partitions + 1]; // of each partition
};

static unsigned partition_of(uint64_t key) {
  return (unsigned)(mixed(key) >> 58);
}

// Keys of the smaller relation are 1, 2, …, in random order; of the larger one, random among them.
static void fill(struct relation* small, struct relation* large) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < small->tuples; i++) {
    const uint64_t key = 1 + (i * UINT64_C(0x9e3779b1) & (small->tuples - 1));
    small->given[i] = (struct tuple){key, key * 2};
    small->divided[i] = (struct tuple){0, 0};
  }
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < large->tuples; i++) {
    large->given[i] = (struct tuple){1 + (mixed(i) & (small->tuples - 1)), i};
    large->divided[i] = (struct tuple){0, 0};
  }
}

static void divide(struct relation* relation) {
  static size_t at[k_most_threads][k_partitions];
  const int most = omp_get_max_threads(), team = most < k_most_threads ? most : k_most_threads;
#pragma omp parallel num_threads(team)
  {
    const size_t thread = (size_t)omp_get_thread_num(), threads = (size_t)omp_get_num_threads();
    const size_t begin = relation->tuples * thread / threads;
    const size_t end = relation->tuples * (thread + 1) / threads;
    size_t* const mine = at[thread];
    memset(mine, 0, sizeof at[thread]);
    for (size_t i = begin; i < end; i++)
      mine[partition_of(relation->given[i].key)]++;
#pragma omp barrier
#pragma omp single
    {
      size_t sum = 0;
      for (unsigned p = 0; p < k_partitions; p++) {
        relation->first[p] = sum;
        for (size_t t = 0; t < threads; t++) {
          const size_t tuples = at[t][p];
          at[t][p] = sum;
          sum += tuples;
        }
      }
      relation->first[k_partitions] = sum;
    }
    for (size_t i = begin; i < end; i++) {
      const struct tuple tuple = relation->given[i];
      relation->divided[mine[partition_of(tuple.key)]++] = tuple;
    }
  }
}

// A partition's part of the table: slots for twice as many tuples as there are on average.
static struct tuple* place_of(struct tuple* table, size_t slots, unsigned partition, uint64_t key) {
  struct tuple* const part = table + partition * slots;
  size_t slot = mixed(key) & (slots - 1);
  while (part[slot].key != 0 && part[slot].key != key)
    slot = (slot + 1) & (slots - 1);
  return part + slot;
}

static void build(const struct relation* small, struct tuple* table, size_t slots) {
#pragma omp parallel for schedule(dynamic)
  for (unsigned p = 0; p < k_partitions; p++) {
    memset(table + p * slots, 0, slots * sizeof *table);
    for (size_t i = small->first[p]; i < small->first[p + 1]; i++)
      *place_of(table, slots, p, small->divided[i].key) = small->divided[i];
  }
}

// Returns the sum of all partners' payloads. Partitions are shared by the threads.
static uint64_t probe(const struct relation* large, struct tuple* table, size_t slots) {
  uint64_t sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
  for (unsigned p = 0; p < k_partitions; p++)
    for (size_t i = large->first[p]; i < large->first[p + 1]; i++)
      sum += place_of(table, slots, p, large->divided[i].key)->payload;
  return sum;
}

int main(int count, char** arguments) {
  struct work work = read_work(count, arguments);
  struct relation small = {(size_t)work.size * k_small, NULL, NULL, {0}};
  struct relation large = {small.tuples * k_larger, NULL, NULL, {0}};
  const size_t slots = small.tuples / k_partitions * 2;
  small.given = allocate(small.tuples, sizeof(struct tuple));
  large.given = allocate(large.tuples, sizeof(struct tuple));
  small.divided = allocate(small.tuples, sizeof(struct tuple));
  large.divided = allocate(large.tuples, sizeof(struct tuple));
  struct tuple* const table = allocate(slots * k_partitions, sizeof *table);
  fill(&small, &large);
  memset(table, 0, slots * k_partitions * sizeof *table);
  uint64_t wanted = 0, sum = 0;
  for (size_t i = 0; i < large.tuples; i++)
    wanted += large.given[i].key * 2;

  while (next_step(&work)) {
    divide(&small);
    divide(&large);
    build(&small, table, slots);
    sum += probe(&large, table, slots);
  }
  const double error = fabs((double)sum - (double)(wanted * (uint64_t)work.done));
  free(small.given), free(small.divided), free(large.given), free(large.divided), free(table);
  return report("hashjoin", &work, error, 0);
}
