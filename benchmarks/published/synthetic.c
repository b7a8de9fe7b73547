// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The synthetic program of B.-J. Huckebrink, "Evaluating and Comparing Data Placement Optimization
// Frameworks for Heterogeneous Memory Systems" (RWTH Aachen 2025, 5.2.1), after its description:
// four arrays of int, accessed in one parallel loop, eight accesses at a time. p_1, p_2 and p_3 are
// read sequentially, with a stride and in tiles; the critical array has the pattern and the part of
// writes (in eighths) that are asked for. The array named by FAST lies on the first of two nodes,
// the others on the second. Accesses are checked by a sum that depends on every index.
//
// usage: synthetic PATTERN EIGHTHS FAST NODES [MiB of an array [repeats]]
//   PATTERN  sequential, strided, tiled, random
//   EIGHTHS  0 to 8 of the accesses are writes
//   FAST     p_1, p_2, p_3, crit, none; free: malloc'ed, for a recording and for plans
//   NODES    such as 0,1
//   prints   seconds of the loop
#include "borders/model_marks.h"
#include "machine/guest_memory.h"

#include <omp.h>

enum { k_batch = 8, k_stride = 8, k_tile = 4, k_tile_stride = 64 }; // elements of 4 bytes

enum pattern { k_sequential, k_strided, k_tiled, k_random };
static const char* const k_patterns[] = {"sequential", "strided", "tiled", "random", 0};
static const char* const k_placements[] = {"p_1", "p_2", "p_3", "crit", "none", "free", 0};
enum { k_free = 5 };

static size_t parts = 1; // of an array: one for each thread, as far as that is a power of two

// A line for each array, by which profiles name it.
static void allocate(uint32_t* arrays[4], size_t bytes) {
  uint32_t* p_1 = (uint32_t*)malloc(bytes);
  uint32_t* p_2 = (uint32_t*)malloc(bytes);
  uint32_t* p_3 = (uint32_t*)malloc(bytes);
  uint32_t* crit = (uint32_t*)malloc(bytes);
  if (!p_1 || !p_2 || !p_3 || !crit) give_up("malloc");
  arrays[0] = p_1, arrays[1] = p_2, arrays[2] = p_3, arrays[3] = crit;
}

static int index_of(const char* name, const char* const* names) {
  for (int i = 0; names[i]; i++)
    if (strcmp(name, names[i]) == 0) return i;
  fprintf(stderr, "synthetic: %s is none of", name);
  for (int i = 0; names[i]; i++)
    fprintf(stderr, " %s", names[i]);
  fprintf(stderr, "\n");
  exit(2);
}

// The index of the k-th access of the batch at `base`. Each pattern but random visits every place
// of an array's part once in a run through it: strides and tiles come back for what they left out.
static inline size_t place(enum pattern pattern, size_t base, size_t k, size_t size) {
  const size_t at = base + k;
  switch (pattern) {
  case k_strided:
    return at * k_stride % size + at * k_stride / size;
  case k_tiled: {
    const size_t tile = at / k_tile * k_tile_stride;
    return tile % size + tile / size * k_tile + at % k_tile;
  }
  case k_random: {
    uint64_t mixed = (at + 1) * UINT64_C(0x9e3779b97f4a7c15);
    mixed ^= mixed >> 29;
    return mixed * UINT64_C(0xbf58476d1ce4e5b9) >> 32 & (size - 1);
  }
  default:
    return at;
  }
}

// Random accesses go to the whole array, others stay in the part that `base` lies in.
static inline __attribute__((always_inline)) uint32_t
access_batch(uint32_t* array, enum pattern pattern, size_t base, size_t size, unsigned writes) {
  uint32_t sum = 0;
  const size_t whole = pattern == k_random ? size : size / parts; // a power of two
  array += base & ~(whole - 1);
  base &= whole - 1;
  for (size_t k = 0; k < k_batch; k++) {
    uint32_t* one = array + place(pattern, base, k, whole);
    if (k < writes)
      *one = (uint32_t)(base + k);
    else
      sum += *one;
  }
  return sum;
}

// Specialised for the pattern, so that no access of the loop is decided on there.
#define RUN(pattern)                                                                               \
  _Pragma("omp parallel for schedule(static) reduction(+ : sum)") for (size_t base = 0;            \
                                                                       base < size;                \
                                                                       base += k_batch) {          \
    sum += access_batch(arrays[0], k_sequential, base, size, 0);                                   \
    sum += access_batch(arrays[1], k_strided, base, size, 0);                                      \
    sum += access_batch(arrays[2], k_tiled, base, size, 0);                                        \
    sum += access_batch(arrays[3], pattern, base, size, writes);                                   \
  }

static uint32_t run(uint32_t* arrays[4], enum pattern pattern, size_t size, unsigned writes) {
  uint32_t sum = 0;
  switch (pattern) {
  case k_sequential:
    RUN(k_sequential) break;
  case k_strided:
    RUN(k_strided) break;
  case k_tiled:
    RUN(k_tiled) break;
  case k_random:
    RUN(k_random) break;
  }
  return sum;
}

// What the first run reads: the placeholders' ones, and from the critical array all ones that it
// does not write. With random accesses, what was written before is read again.
static int is_right(uint32_t sum, enum pattern pattern, size_t size, unsigned writes) {
  if (pattern == k_random && writes > 0) return 1;
  return sum == (uint32_t)(3 * size + size / k_batch * (k_batch - writes));
}

int main(int count, char** arguments) {
  if (count < 5) {
    fprintf(stderr, "usage: synthetic PATTERN EIGHTHS FAST NODES [MiB [repeats]]\n");
    return 2;
  }
  const enum pattern pattern = (enum pattern)index_of(arguments[1], k_patterns);
  const unsigned writes = (unsigned)atoi(arguments[2]);
  const int fast = index_of(arguments[3], k_placements);
  int fast_node, slow_node;
  if (sscanf(arguments[4], "%d,%d", &fast_node, &slow_node) != 2) {
    fprintf(stderr, "synthetic: %s is not two nodes, such as 0,1\n", arguments[4]);
    return 2;
  }
  const size_t bytes = (size_t)(count > 5 ? atoi(arguments[5]) : 16) << 20;
  const int repeats = count > 6 ? atoi(arguments[6]) : 1;
  const size_t size = bytes / sizeof(uint32_t);
  uint32_t* arrays[4];
  while (2 * parts <= (size_t)omp_get_max_threads())
    parts *= 2;
  omptier_model_off();
  if (fast == k_free) allocate(arrays, bytes);
  for (int i = 0; i < 4; i++) {
    if (fast != k_free) arrays[i] = memory_on(i == fast ? fast_node : slow_node, bytes, 1);
    for (size_t at = 0; at < size; at++)
      arrays[i][at] = 1;
  }
  start_team();
  omptier_model_reset();
  omptier_model_on();
  const double begin = seconds_now();
  uint32_t sum = run(arrays, pattern, size, writes);
  for (int i = 1; i < repeats; i++)
    run(arrays, pattern, size, writes);
  const double took = seconds_now() - begin;
  omptier_model_off();
  if (!is_right(sum, pattern, size, writes)) {
    fprintf(stderr, "synthetic: wrong sum %u\n", sum);
    return 1;
  }
  printf("%.6f\n", took);
  return 0;
}
