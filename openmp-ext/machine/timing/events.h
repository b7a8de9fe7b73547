// SPDX-License-Identifier: GPL-2.0-or-later
//
// Producer of the memory-event unit (borders/event_unit.h): writes every N-th miss into the vCPU's
// ring. N varies uniformly by ± half, so that periodic programs are sampled fairly; its generator
// is seeded by the vCPU's number alone, so that runs are alike.
#pragma once

#include "borders/event_unit.h"
#include "machine/timing/config.h"

struct events;

// Maps configuration->events, making it EVENT_UNIT_SIZE long. Null: error holds one line.
struct events* events_open(const struct configuration* configuration, char* error,
                           size_t error_size);

// Writes the header. Called at every `on`, since restoring a snapshot may have overwritten it.
void events_publish(struct events* events);

void events_synchronise(struct events* events);

// A miss, on the vCPU's thread. record: all fields but tsc, sequence and misses.
void events_miss(struct events* events, uint32_t vcpu, const struct event_record* record);

void events_totals(const struct events* events, uint64_t* misses, uint64_t* recorded,
                   uint64_t* lost);
