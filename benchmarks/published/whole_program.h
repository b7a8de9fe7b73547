// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the whole programs of this folder share: arrays by plain malloc, a hash that makes their
// input, and the part that is measured. Each is called as NAME SIZE STEPS: SIZE (a power of two)
// multiplies all arrays, so that what is run in the machine with its small caches, and a problem
// that is larger than this computer's, have the same sites. All steps do the same work; each
// program prints the seconds of its shortest step, since other load on the host only adds time.
#pragma once

#include "borders/model_marks.h"
#include "machine/guest_memory.h"

// At least so many steps, and as many as take k_seconds.
enum { k_seconds = 2 };
struct work {
  long size, steps, done;
  double began, step_began, shortest;
};

// To be called first: set-up takes no modelled time.
static inline struct work read_work(int count, char** arguments) {
  omptier_model_off();
  struct work work = {1, 1, 0, 0, 0, 1e300};
  if (count > 1) work.size = atol(arguments[1]);
  if (count > 2) work.steps = atol(arguments[2]);
  if (work.size < 1 || (work.size & (work.size - 1)) != 0 || work.steps < 1) {
    fprintf(stderr, "usage: %s [SIZE (a power of two) [STEPS]]\n", arguments[0]);
    exit(2);
  }
  return work;
}

// Inlined everywhere, so that each array is an allocation site of its own with a name.
static inline __attribute__((always_inline)) void* allocate(size_t count, size_t size) {
  void* memory = malloc(count * size);
  if (memory == NULL) give_up("malloc");
  return memory;
}

// A number's place in a random order, as splitmix64 mixes it.
static inline uint64_t mixed(uint64_t number) {
  number += UINT64_C(0x9e3779b97f4a7c15);
  number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
  return number ^ (number >> 31);
}

// Before each step. Returns 0 if there have been enough.
static inline int next_step(struct work* work) {
  if (work->done == 0) {
    start_team();
    omptier_model_reset();
    omptier_model_on();
    work->began = seconds_now();
  } else {
    const double now = seconds_now(), took = now - work->step_began;
    if (took < work->shortest) work->shortest = took;
    if (work->done >= work->steps && now - work->began >= k_seconds) {
      omptier_model_off();
      return 0;
    }
  }
  work->done++;
  work->step_began = seconds_now();
  return 1;
}

// Prints the time if the result is right. Returns the exit status.
static inline int report(const char* program, const struct work* work, double error,
                         double allowed) {
  if (!(error <= allowed)) {
    fprintf(stderr, "%s: wrong by %g\n", program, error);
    return 1;
  }
  printf("%.6f\n", work->shortest);
  return 0;
}
