// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/arrivals.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { k_kept_bits = 12 };

// Written one after the other: in a race, a line may get another one's time, which is harmless.
struct arrivals {
  struct {
    _Atomic uint64_t line; // + 1; 0: none
    _Atomic int64_t time;
  } at[1 << k_kept_bits];
};

static uint64_t place_of(uint64_t line) {
  return line * UINT64_C(0x9e3779b97f4a7c15) >> (64 - k_kept_bits);
}

struct arrivals* arrivals_create(void) {
  return calloc(1, sizeof(struct arrivals));
}

void arrivals_clear(struct arrivals* arrivals) {
  for (uint32_t i = 0; i < 1 << k_kept_bits; i++)
    atomic_store_explicit(&arrivals->at[i].line, 0, memory_order_relaxed);
}

void arrivals_add(struct arrivals* arrivals, uint64_t line, int64_t time) {
  const uint64_t place = place_of(line);
  atomic_store_explicit(&arrivals->at[place].time, time, memory_order_relaxed);
  atomic_store_explicit(&arrivals->at[place].line, line + 1, memory_order_relaxed);
}

int64_t arrivals_of(const struct arrivals* arrivals, uint64_t line) {
  const uint64_t place = place_of(line);
  if (atomic_load_explicit(&arrivals->at[place].line, memory_order_relaxed) != line + 1)
    return INT64_MIN;
  return atomic_load_explicit(&arrivals->at[place].time, memory_order_relaxed);
}
