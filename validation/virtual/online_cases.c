// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// online_cases NODE: gathers from an array of malloc's that the kernel put on this node, in regions
// of two threads, until nearly all of its pages are on another: omptier run --online must bring
// them there. Its bytes must stay what they were. Status 1 if that takes longer than two minutes.
#include <numaif.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
  k_elements = 1 << 20,
  k_page_elements = 512,
  k_pages = 32,
  k_gathers = 20000,
  k_seconds = 120
};

static int pages_on(uint64_t* array, int node) {
  void* pages[k_pages];
  int where[k_pages], count = 0;
  for (int i = 0; i < k_pages; i++)
    pages[i] = array + (size_t)i * (k_elements / k_pages);
  if (move_pages(0, k_pages, pages, NULL, where, 0)) return -1;
  for (int i = 0; i < k_pages; i++)
    count += where[i] == node;
  return count;
}

static uint64_t gather(const uint64_t* array, uint64_t seed) {
  uint64_t sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    uint64_t at = seed + (uint64_t)omp_get_thread_num();
    for (int i = 0; i < k_gathers; i++) {
      at = at * 6364136223846793005u + 1442695040888963407u;
      sum += array[(at >> 33) % k_elements];
    }
  }
  return sum;
}

int main(int count, char** words) {
  if (count != 2) return 2;
  const int node = atoi(words[1]);
  const unsigned long nodes = 1ul << node;
  if (set_mempolicy(MPOL_PREFERRED, &nodes, 64)) return perror("set_mempolicy"), 2;
  uint64_t* array = malloc(k_elements * sizeof *array);
  for (size_t i = 0; i < k_elements; i += k_page_elements)
    array[i] = i;
  set_mempolicy(MPOL_DEFAULT, NULL, 0);
  if (pages_on(array, node) != k_pages) return fprintf(stderr, "not on node %d\n", node), 2;
  for (size_t i = 0; i < k_elements; i++) // long enough to be moved meanwhile
    array[i] = i;

  const double begin = omp_get_wtime();
  uint64_t sum = 0;
  while (pages_on(array, node) > k_pages / 8 && omp_get_wtime() - begin < k_seconds)
    for (int round = 0; round < 50; round++)
      sum += gather(array, (uint64_t)round);
  const int stay = pages_on(array, node);
  for (size_t i = 0; i < k_elements; i++)
    if (array[i] != i)
      return fprintf(stderr, "element %zu is %llu\n", i, (unsigned long long)array[i]), 1;
  fprintf(stderr, "%d of %d pages stay after %.1f s; %llu\n", stay, k_pages,
          omp_get_wtime() - begin, (unsigned long long)sum);
  return stay > k_pages / 8;
}
