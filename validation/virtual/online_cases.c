// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// online_cases NODE: gathers from an array of malloc's and from a static one, which the kernel put
// on this node, in regions of two threads, until nearly all pages of both are on another: omptier
// run --online must bring them there. Their bytes must stay what they were. Status 1 if that takes
// longer than two minutes.
#include <numaif.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { k_elements = 1 << 20, k_page_elements = 512, k_pages = 32, k_seconds = 120 };
enum { k_gathers = 10000, k_stay = k_pages / 8 };

static _Alignas(4096) uint64_t table[k_elements];

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
      sum += table[(at >> 32) % k_elements];
    }
  }
  return sum;
}

static int is_whole(const char* name, const uint64_t* array) {
  for (size_t i = 0; i < k_elements; i++)
    if (array[i] != i)
      return fprintf(stderr, "element %zu of %s is %llu\n", i, name, (unsigned long long)array[i]),
             0;
  return 1;
}

int main(int count, char** words) {
  if (count != 2) return 2;
  const int node = atoi(words[1]);
  const unsigned long nodes = 1ul << node;
  if (set_mempolicy(MPOL_PREFERRED, &nodes, 64)) return perror("set_mempolicy"), 2;
  uint64_t* array = malloc(k_elements * sizeof *array);
  for (size_t i = 0; i < k_elements; i += k_page_elements)
    array[i] = table[i] = i;
  set_mempolicy(MPOL_DEFAULT, NULL, 0);
  if (pages_on(array, node) != k_pages || pages_on(table, node) != k_pages)
    return fprintf(stderr, "not on node %d\n", node), 2;
  for (size_t i = 0; i < k_elements; i++) // long enough to be moved meanwhile
    array[i] = table[i] = i;

  const double begin = omp_get_wtime();
  uint64_t sum = 0;
  while ((pages_on(array, node) > k_stay || pages_on(table, node) > k_stay) &&
         omp_get_wtime() - begin < k_seconds)
    for (int round = 0; round < 50; round++)
      sum += gather(array, (uint64_t)round);
  const int of_array = pages_on(array, node), of_table = pages_on(table, node);
  fprintf(stderr, "%d and %d of %d pages stay after %.1f s; %llu\n", of_array, of_table, k_pages,
          omp_get_wtime() - begin, (unsigned long long)sum);
  return !is_whole("the array", array) || !is_whole("the table", table) || of_array > k_stay ||
         of_table > k_stay;
}
