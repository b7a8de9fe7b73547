// SPDX-License-Identifier: GPL-2.0-or-later
//
// Lines on their way to the last level. The cache has a line as soon as a vCPU misses it; others
// that want it meanwhile still have to wait until it arrives. So threads that read one array
// together are no faster than the one that is ahead. Direct mapped: a line that another one pushes
// out is there at once. All vCPUs use it, without a lock.
#pragma once

#include "machine/timing/config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct arrivals;

struct arrivals* arrivals_create(void);
void arrivals_clear(struct arrivals* arrivals);

// time: real ns (clock.h).
void arrivals_add(struct arrivals* arrivals, uint64_t line, int64_t time);

// When the line arrives or arrived; INT64_MIN if that is not known any more.
int64_t arrivals_of(const struct arrivals* arrivals, uint64_t line);

#ifdef __cplusplus
}
#endif
