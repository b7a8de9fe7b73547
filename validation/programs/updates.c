/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Three ways to write: counters that are all counted up, a histogram of keys, and values fetched by
 * an index and written in order.
 *
 * usage: updates [thousands of elements 16000] [rounds 3] [--truth FILE [--alone]]
 */
#include "truth.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t mix(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

static void count_up(double* updated, long count) {
  for (long i = 0; i < count; ++i)
    updated[i] += 1;
}

static void count_keys(const uint32_t* keys, uint64_t* histogram, long count) {
  for (long i = 0; i < count; ++i)
    histogram[keys[i]]++;
}

static void fetch(double* fetched, const double* table, const uint32_t* index, long count) {
  for (long i = 0; i < count; ++i)
    fetched[i] = table[index[i]];
}

static double total_gathered(const double* table, const uint32_t* index, long count) {
  double sum = 0;
  for (long i = 0; i < count; ++i)
    sum += table[index[i]];
  return sum;
}

int main(int argc, char** argv) {
  const double begin = truth_clock();
  const long count = 1000 * truth_number(argc, argv, 1, 16000);
  const int rounds = (int)truth_number(argc, argv, 2, 3);
  const size_t doubles = (size_t)count * sizeof(double), words = (size_t)count * sizeof(uint32_t);

  double *updated = malloc(2 * doubles), *table = malloc(2 * doubles), *fetched = malloc(doubles);
  uint64_t* histogram = calloc((size_t)count, sizeof *histogram);
  uint32_t *keys = malloc(words), *index = malloc(words);
  for (long i = 0; i < count; ++i) {
    keys[i] = mix((uint32_t)i) % (uint32_t)count;
    index[i] = mix((uint32_t)i + 77) % (uint32_t)(2 * count);
  }
  for (long i = 0; i < 2 * count; ++i) {
    updated[i] = (double)i;
    table[i] = 0.5 * (double)i;
  }
  const double filled = truth_clock();

  double updating = 0, counting = 0, fetching = 0;
  for (int i = 0; i < rounds; ++i) {
    double before = truth_clock(), after;
    for (int k = 0; k < 4; ++k)
      count_up(updated, 2 * count);
    updating += (after = truth_clock()) - before;
    count_keys(keys, histogram, count);
    counting += (before = truth_clock()) - after;
    fetch(fetched, table, index, count);
    fetching += truth_clock() - before;
  }
  printf("%g %llu %g\n", updated[count / 2], (unsigned long long)histogram[1], fetched[count / 3]);

  const char* file = truth_option(argc, argv, "--truth");
  if (file == NULL) return 0;
  const int o_updated = truth_object("updated", 2 * doubles, 1, TRUTH_SEQUENTIAL);
  const int o_histogram = truth_object("histogram", (size_t)count * 8, 1, TRUTH_INDIRECT);
  const int o_keys = truth_object("keys", words, 1, TRUTH_SEQUENTIAL);
  const int o_fetched = truth_object("fetched", doubles, 1, TRUTH_SEQUENTIAL);
  const int o_table = truth_object("table", 2 * doubles, 1, TRUTH_INDIRECT);
  const int o_index = truth_object("index", words, 1, TRUTH_SEQUENTIAL);
  truth_through(o_histogram, "keys");
  truth_through(o_table, "index");
  if (2 * doubles > 2 * truth_last_level_cache()) truth_from_cache(o_updated, 0);

  const double n = (double)count, times = rounds;
  const int filling = truth_loop("fill", filled - begin);
  truth_weight(truth_use(filling, o_updated, 0, 16 * n), 16);
  truth_weight(truth_use(filling, o_keys, 0, 4 * n), 4);
  truth_weight(truth_use(filling, o_index, 0, 4 * n), 4);
  truth_weight(truth_use(filling, o_table, 0, 16 * n), 16);
  truth_use(truth_loop("updated", updating), o_updated, 4 * times * 16 * n, 4 * times * 16 * n);
  const int counts = truth_loop("histogram", counting);
  const int use_histogram = truth_use(counts, o_histogram, times * 8 * n, times * 8 * n);
  const int use_keys = truth_use(counts, o_keys, times * 4 * n, 0);
  const int fetches = truth_loop("fetch", fetching);
  const int use_fetched = truth_use(fetches, o_fetched, 0, times * 8 * n);
  const int use_table = truth_use(fetches, o_table, times * 8 * n, 0);
  const int use_index = truth_use(fetches, o_index, times * 4 * n, 0);
  volatile double sink = 0;
  for (int i = 0; truth_option(argc, argv, "--alone") != NULL && i < 5; ++i) {
    const double read_keys = truth_read_lines(keys, words);
    double before = truth_clock();
    count_keys(keys, histogram, count);
    truth_alone(use_keys, read_keys);
    truth_alone(use_histogram, truth_clock() - before - read_keys);
    const double read_index = truth_read_lines(index, words);
    before = truth_clock();
    sink = total_gathered(table, index, count);
    truth_alone(use_index, read_index);
    truth_alone(use_table, truth_clock() - before - read_index);
    truth_alone(use_fetched, truth_write_lines(fetched, doubles));
  }
  (void)sink;
  return truth_write(file, "updates") == 0 ? 0 : 1;
}
