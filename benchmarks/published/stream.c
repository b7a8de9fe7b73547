// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// STREAM's kernels (J. McCalpin) with each array on a NUMA node of its own, and reads of one array
// in order or at random: what the tables of memory devices are made of. Numerically checked.
//
// usage: stream KERNEL NODES [MiB of an array [repeats]]
//   KERNEL  copy (b = a), add (c = a + b), triad (c = a + 3 b), read (sum of a in order),
//           lines (sum of each line's first element), random (of elements at independent random
//           places), chase (each place names the next; one thread), loaded (the same while the
//           other threads read a second array in order)
//   NODES   of the arrays, the target last: 0,0,1
//   prints  nanoseconds an element, of the fastest repeat
#include "borders/model_marks.h"
#include "machine/guest_memory.h"

#include <omp.h>

enum kernel { k_copy, k_add, k_triad, k_read, k_lines, k_random, k_chase, k_loaded, k_kernels };
static const char* const k_names[k_kernels] = {"copy",  "add",    "triad", "read",
                                               "lines", "random", "chase", "loaded"};
static const int k_arrays[k_kernels] = {2, 3, 3, 1, 1, 1, 1, 2};

struct arrays {
  size_t size; // a power of two
  uint64_t* of[3];
};

static uint64_t mixed(uint64_t at) {
  at = (at + 1) * UINT64_C(0x9e3779b97f4a7c15);
  at ^= at >> 29;
  return at * UINT64_C(0xbf58476d1ce4e5b9) >> 20;
}

// Lines in one random cycle (Sattolo).
static void link_lines(uint64_t* array, size_t size) {
  const size_t lines = size / 8;
  uint64_t* order = malloc(lines * sizeof *order);
  if (!order) give_up("malloc");
  for (size_t i = 0; i < lines; i++)
    order[i] = i;
  for (size_t i = lines - 1; i > 0; i--) {
    const size_t j = mixed(i) % i;
    const uint64_t swapped = order[i];
    order[i] = order[j];
    order[j] = swapped;
  }
  for (size_t i = 0; i < lines; i++)
    array[order[i] * 8] = order[(i + 1) % lines] * 8;
  free(order);
}

static uint64_t chase(const uint64_t* array, size_t steps) {
  uint64_t at = 0;
  for (size_t i = 0; i < steps; i++)
    at = array[at];
  return at;
}

// Until the first thread has done its steps.
static uint64_t chase_beside_readers(const uint64_t* array, const uint64_t* other, size_t size,
                                     size_t steps) {
  uint64_t reached = 0;
  _Atomic int done = 0;
#pragma omp parallel
  if (omp_get_thread_num() == 0) {
    reached = chase(array, steps);
    done = 1;
  } else {
    const size_t threads = (size_t)omp_get_num_threads(), own = (size_t)omp_get_thread_num();
    volatile uint64_t sum = 0;
    for (size_t i = size / threads * own / 512 * 512; !done; i = (i + 512) % size) {
      uint64_t read = 0;
      for (size_t line = 0; line < 512; line += 8)
        read += other[i + line];
      sum = read;
    }
    (void)sum;
  }
  return reached;
}

// Returns how many elements were accessed; *sum: of what was read.
static size_t run(enum kernel kernel, const struct arrays* arrays, uint64_t* sum) {
  uint64_t *a = arrays->of[0], *b = arrays->of[1], *c = arrays->of[2], read = 0;
  const size_t size = arrays->size, random = size / 8;
  switch (kernel) {
  case k_copy:
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < size; i++)
      b[i] = a[i];
    return size;
  case k_add:
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < size; i++)
      c[i] = a[i] + b[i];
    return size;
  case k_triad:
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < size; i++)
      c[i] = a[i] + 3 * b[i];
    return size;
  case k_read:
#pragma omp parallel for schedule(static) reduction(+ : read)
    for (size_t i = 0; i < size; i++)
      read += a[i];
    *sum = read;
    return size;
  case k_lines:
#pragma omp parallel for schedule(static) reduction(+ : read)
    for (size_t i = 0; i < size; i += 8)
      read += a[i];
    *sum = read;
    return size / 8;
  case k_random:
#pragma omp parallel for schedule(static) reduction(+ : read)
    for (size_t i = 0; i < random; i++)
      read += a[mixed(i) & (size - 1)];
    *sum = read;
    return random;
  case k_chase:
    *sum = chase(a, size / 64);
    return size / 64;
  default:
    *sum = chase_beside_readers(a, b, size, size / 64);
    return size / 64;
  }
}

static int is_right(enum kernel kernel, const struct arrays* arrays, uint64_t sum, size_t count) {
  if (kernel == k_read || kernel == k_lines || kernel == k_random) return sum == count;
  if (kernel == k_chase || kernel == k_loaded) return sum > 0 && sum % 8 == 0 && sum < arrays->size;
  const uint64_t wanted = kernel == k_copy ? 1 : kernel == k_add ? 2 : 4;
  const uint64_t* target = arrays->of[k_arrays[kernel] - 1];
  for (size_t i = 0; i < arrays->size; i++)
    if (target[i] != wanted) return 0;
  return 1;
}

int main(int count, char** arguments) {
  int kernel = 0;
  while (count > 2 && kernel < k_kernels && strcmp(arguments[1], k_names[kernel]) != 0)
    kernel++;
  if (count < 3 || kernel == k_kernels) {
    fprintf(stderr,
            "usage: stream copy|add|triad|read|lines|random|chase|loaded NODE,… [MiB [repeats]]\n");
    return 2;
  }
  struct arrays arrays = {((size_t)(count > 3 ? atoi(arguments[3]) : 16) << 20) / 8, {0}};
  const int repeats = count > 4 ? atoi(arguments[4]) : 2;
  char* node = arguments[2];
  omptier_model_off();
  for (int i = 0; i < k_arrays[kernel]; i++, node += strcspn(node, ",") + 1) {
    arrays.of[i] = memory_on(atoi(node), arrays.size * 8, 1);
    for (size_t at = 0; at < arrays.size; at++)
      arrays.of[i][at] = 1;
  }
  if (kernel == k_chase || kernel == k_loaded) link_lines(arrays.of[0], arrays.size);
  double fastest = 1e30;
  for (int i = 0; i < repeats; i++) {
    uint64_t sum = 0;
    omptier_model_reset();
    omptier_model_on();
    const double begin = seconds_now();
    const size_t elements = run((enum kernel)kernel, &arrays, &sum);
    const double took = (seconds_now() - begin) * 1e9 / (double)elements;
    omptier_model_off();
    if (took < fastest) fastest = took;
    if (!is_right((enum kernel)kernel, &arrays, sum, elements)) {
      fprintf(stderr, "stream: wrong result\n");
      return 1;
    }
  }
  printf("%.6f\n", fastest);
  return 0;
}
