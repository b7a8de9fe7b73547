// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/clock.h"

#include <time.h>

struct clock_scale clock_scale = {0, 1};

struct reading {
  uint64_t ticks;
  int64_t ns;
};

// Both clocks at one instant: the least disturbed of several tries.
static struct reading read_both(void) {
  struct reading best = {0, 0};
  uint64_t best_width = ~UINT64_C(0);
  for (int i = 0; i < 20; i++) {
    struct timespec now;
    uint64_t before = __rdtsc();
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    uint64_t after = __rdtsc();
    if (after - before >= best_width) continue;
    best_width = after - before;
    best =
        (struct reading){before + best_width / 2, now.tv_sec * INT64_C(1000000000) + now.tv_nsec};
  }
  return best;
}

void clock_calibrate(void) {
  struct reading first = read_both();
  nanosleep(&(struct timespec){0, 30 * 1000 * 1000}, NULL);
  struct reading second = read_both();
  clock_scale.ns_per_tick = (double)(second.ns - first.ns) / (double)(second.ticks - first.ticks);
  clock_scale.origin = first.ticks;
}
