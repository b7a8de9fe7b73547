// SPDX-License-Identifier: GPL-2.0-or-later
//
// The host's time-stamp counter in nanoseconds. Every modelled miss reads it, so it must take only
// a few nanoseconds. Event records carry it because the guest's counter under TCG differs from it
// by a constant. Assumes a counter of constant rate, synchronised over the host's processors.
#pragma once

#include <stdint.h>
#include <x86intrin.h>

struct clock_scale {
  uint64_t origin; // ticks
  double ns_per_tick;
};
extern struct clock_scale clock_scale;

// Takes 30 ms: measures the rate against CLOCK_MONOTONIC_RAW and sets the origin.
void clock_calibrate(void);

static inline uint64_t clock_ticks(void) {
  return __rdtsc();
}
static inline int64_t clock_now(void) {
  return (int64_t)((double)(clock_ticks() - clock_scale.origin) * clock_scale.ns_per_tick);
}
