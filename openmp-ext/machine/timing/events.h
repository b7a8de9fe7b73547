// SPDX-License-Identifier: GPL-2.0-or-later
//
// Producer of the memory-event unit (borders/event_unit.h): chooses every N-th miss and writes it
// into the vCPU's ring. N varies uniformly by ± half, from a generator seeded by the vCPU's number
// alone, so that programs with a period of their own are sampled fairly and runs are alike.
#pragma once

#include "borders/event_unit.h"
#include "machine/timing/config.h"

struct events;

// Maps configuration->events, making it EVENT_UNIT_SIZE long. Null: error holds one line.
struct events* events_open(const struct configuration* configuration, char* error,
                           size_t error_size);

// Writes the header. Again at every `on`: a restored snapshot may have put other bytes there.
void events_publish(struct events* events);

// Stamps the host's clock.
void events_synchronise(struct events* events);

// One miss of user code, on the vCPU's own thread. record: all but tsc, sequence, misses filled in.
void events_miss(struct events* events, uint32_t vcpu, const struct event_record* record);

// Sums over the rings, for the statistics.
void events_totals(const struct events* events, uint64_t* misses, uint64_t* recorded,
                   uint64_t* lost);
