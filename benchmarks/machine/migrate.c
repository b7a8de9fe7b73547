// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// migrate FROM TO [MIB [REPEATS]]: the cost of moving pages between two NUMA nodes, against copying
// the same bytes: move_pages in batches of 512 pages of 4 KiB, move_pages of 2 MiB pages, copying.
// One thread does this while other threads of the process are alive on other processors, as in an
// OpenMP program (so that unmapping needs shoot-downs). Prints medians in guest seconds, and
// the copy's share of each.
//
// The time model's charges for folios and shoot-downs are calibrated with this: copying should be
// about a quarter of moving 4 KiB pages between DRAM and HBM.
#include "borders/model_marks.h"
#include "guest_memory.h"

#include <omp.h>

enum { k_most_repeats = 32, k_small_page = 4096, k_batch = 512 };

// As the kernel copies a page. What memcpy does differs by its version and the size.
static void copy_page(char* to, const char* from) {
#ifdef __x86_64__
  size_t words = k_small_page / 8;
  __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
#else
  memcpy(to, from, k_small_page);
#endif
}

static double time_copy(char* to, const char* from, size_t size) {
  double start = seconds_now();
  for (size_t at = 0; at < size; at += k_small_page)
    copy_page(to + at, from + at);
  return seconds_now() - start;
}

static void check_nodes(const int* status, size_t count, int node) {
  for (size_t i = 0; i < count; i++)
    if (status[i] != node) {
      fprintf(stderr, "migrate: a page is on %d instead of node %d\n", status[i], node);
      exit(1);
    }
}

static double time_move(char* memory, size_t size, size_t page, int node) {
  static void* pages[k_batch];
  static int nodes[k_batch], status[k_batch];
  double taken = 0;
  for (size_t at = 0; at < size;) {
    size_t count = 0;
    for (; count < k_batch && at < size; at += page, count++) {
      pages[count] = memory + at;
      nodes[count] = node;
    }
    double start = seconds_now();
    if (move_pages(0, count, pages, nodes, status, MPOL_MF_MOVE)) give_up("move_pages");
    taken += seconds_now() - start;
    check_nodes(status, count, node);
  }
  return taken;
}

// Runs every thread on its processor in this address space, so that shoot-downs include it.
static void wake_threads(void) {
#pragma omp parallel
  {
    __asm__ volatile("" ::: "memory");
  }
}

int main(int count, char** arguments) {
  if (count < 3) {
    fprintf(stderr, "usage: migrate FROM TO [MIB [REPEATS]]\n");
    return 2;
  }
  int from = atoi(arguments[1]), to = atoi(arguments[2]);
  size_t size = (size_t)(count > 3 ? atoi(arguments[3]) : 8) << 20;
  int repeats = count > 4 ? atoi(arguments[4]) : 3;
  if (size == 0 || size % k_huge_page || repeats < 1 || repeats > k_most_repeats) {
    fprintf(stderr, "migrate: needs an even number of MiB, 1-%d repeats\n", k_most_repeats);
    return 2;
  }
  omptier_model_off();
  char* small = memory_on(from, size, 0);
  char* huge = memory_on(from, size, 1);
  char* source = memory_on(from, size, 0);
  char* target = memory_on(to, size, 0);
  double copy[k_most_repeats], move_small[k_most_repeats], move_huge[k_most_repeats];
  for (int r = 0; r < repeats; r++) {
    omptier_model_reset();
    omptier_model_on();
    wake_threads();
    copy[r] = time_copy(target, source, size);
    wake_threads();
    move_small[r] = time_move(small, size, k_small_page, to);
    move_huge[r] = time_move(huge, size, k_huge_page, to);
    omptier_model_off();
    time_move(small, size, k_small_page, from);
    time_move(huge, size, k_huge_page, from);
  }
  double copied = median(copy, repeats), small_time = median(move_small, repeats),
         huge_time = median(move_huge, repeats);
  printf("node %d to %d, %zu MiB, guest seconds: copy %.4f, move 4 KiB pages %.4f (copying is %.3f "
         "of it), "
         "move 2 MiB pages %.4f (%.3f)\n",
         from, to, size >> 20, copied, small_time, copied / small_time, huge_time,
         copied / huge_time);
  return 0;
}
