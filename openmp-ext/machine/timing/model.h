// SPDX-License-Identifier: GPL-2.0-or-later
//
// The time model: what an access costs, and how a vCPU pays for it.
//
// Each vCPU has a debt in real (dilated) nanoseconds, to which misses and kernel charges add. When
// it exceeds a chunk, the vCPU's thread sleeps. The time that it overslept or waited on the host's
// run queue is credited, so that a busy host stretches the guest's times as little as possible.
//
// This part is independent of QEMU: plugin.c calls it from each vCPU's own thread. With
// thread=single all vCPUs would sleep together and times would mean nothing; this is detected and
// reported.
#pragma once

#include "machine/timing/caches.h"
#include "machine/timing/config.h"
#include "machine/timing/events.h"
#include "machine/timing/kernel.h"
#include "machine/timing/misses.h"
#include "machine/timing/nodes.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/types.h>

// Counters since the last reset. Written by the vCPU's thread; statistics read them without a lock
// and may lag by a few accesses.
struct node_counters {
  uint64_t reads, writes, streamed, write_backs;
  double wait, queue; // real ns: in all, and of it for bandwidth
};

struct vcpu_counters {
  uint64_t accesses, l1_misses, l2_misses;
  uint64_t elsewhere; // misses in memory that belongs to no node (devices, ROM)
  uint64_t kernel_charges, naps;
  double slept, host_delay; // real ns: slept; credited for the host's run queue
  struct node_counters node[k_max_nodes];
};

struct vcpu {
  uint32_t number;
  unsigned epoch; // last reset applied to its caches and counters
  double debt;    // real ns; negative: credit
  struct core_caches caches;
  struct vcpu_counters counters;
  struct miss_table misses;
  pid_t thread;  // 0 before it first pays
  int schedstat; // file, −1 if the host has none
  uint64_t host_delay_seen;
  _Alignas(64) char end[64];
};

struct model {
  atomic_bool on;
  atomic_uint epoch;
  struct configuration configuration;
  struct shared_cache* llc;
  struct nodes* nodes;
  struct kernel_model* kernel;     // null: kernel code costs nothing
  struct events* events;           // null: no event unit
  struct miss_export* miss_export; // null: misses are not counted by page
  FILE* statistics;
  pthread_mutex_t mark_lock;
  struct vcpu vcpus[k_max_vcpus];
};

// Null: `error` has one line.
struct model* model_create(const char* configuration_path, uint32_t vcpus, char* error,
                           size_t error_size);

// An access that missed the first level. reported: physical address as QEMU reports it.
void model_access(struct model* model, struct vcpu* vcpu, uint64_t pc, uint64_t address,
                  uint64_t reported, bool store);

// A charged kernel function is called. ns: undilated.
void model_charge(struct model* model, struct vcpu* vcpu, double ns);

void model_switch(struct model* model, struct vcpu* vcpu, bool on);
void model_reset(struct model* model);
void model_synchronise(struct model* model);
// Writes statistics and a section of misses. mark: 0–15 or MISS_SECTION_END.
void model_mark(struct model* model, uint32_t mark);

// statistics.c
void statistics_write(struct model* model, uint32_t mark);
