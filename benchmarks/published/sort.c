// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks of integer keys in the manner of NAS IS without buckets, after its description (RNR-94-007,
// section 2.3.5): each thread counts its keys in a table of its own, sums it up, and all add up the
// tables. Keys are the sum of four random parts. As in the published run (2^29 keys of 8 bytes
// below 2^25 and 48 threads, which fit its 20 GB), a thread's table has three places for each of
// its keys. The copy is only used for the check, as in the original.
//
// usage: sort NODES
//   NODES   of the keys, the sorted copy, the tables
//   prints  seconds, bytes of each group
#include "groups.h"

enum { k_places = 1 << 20, k_threads = 4, k_keys = k_threads * (k_places / 3) };

enum group { k_key_group, k_copy_group, k_table_group, k_groups };

static void make_keys(int64_t* keys) {
  uint64_t state = 314159265;
  for (size_t i = 0; i < k_keys; i++) {
    uint64_t sum = 0;
    for (int part = 0; part < 4; part++)
      sum += next_random(&state);
    keys[i] = (int64_t)(sum * (k_places / 4) >> 31);
  }
}

// tables[0][key] is afterwards the number of keys up to this one.
static void rank(const int64_t* keys, int64_t* const* tables) {
#pragma omp parallel num_threads(k_threads)
  {
    int64_t* mine = tables[omp_get_thread_num()];
    for (size_t place = 0; place < k_places; place++)
      mine[place] = 0;
#pragma omp for schedule(static) nowait
    for (size_t i = 0; i < k_keys; i++)
      mine[keys[i]]++;
    for (size_t place = 1; place < k_places; place++)
      mine[place] += mine[place - 1];
#pragma omp barrier
    for (int other = 1; other < k_threads; other++) {
#pragma omp for schedule(static) nowait
      for (size_t place = 0; place < k_places; place++)
        tables[0][place] += tables[other][place];
    }
  }
}

// Puts each key where its rank says; all are then in order, and their sum is the same.
static bool is_sorted(const int64_t* keys, int64_t* copy, int64_t* ranks) {
  uint64_t difference = 0;
  if (ranks[k_places - 1] != k_keys) return false;
  for (size_t i = 0; i < k_keys; i++) {
    const int64_t place = --ranks[keys[i]];
    if (place < 0 || place >= k_keys) return false;
    copy[place] = keys[i];
  }
  for (size_t i = 0; i < k_keys; i++) {
    difference += (uint64_t)(keys[i] - copy[i]);
    if (i > 0 && copy[i] < copy[i - 1]) return false;
  }
  return difference == 0;
}

int main(int count, char** arguments) {
  struct groups groups = groups_of(count, arguments, k_groups);
  int64_t* keys = array_in(&groups, k_key_group, sizeof(int64_t) * k_keys);
  int64_t* copy = array_in(&groups, k_copy_group, sizeof(int64_t) * k_keys);
  int64_t* tables[k_threads];
  for (int i = 0; i < k_threads; i++)
    tables[i] = array_in(&groups, k_table_group, sizeof(int64_t) * k_places);
  make_keys(keys);
  const double begin = begin_main();
  rank(keys, tables);
  const double took = end_main(begin);
  return report(&groups, "sort", took, is_sorted(keys, copy, tables[0]));
}
