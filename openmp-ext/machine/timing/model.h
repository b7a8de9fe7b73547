// SPDX-License-Identifier: GPL-2.0-or-later
//
// The time model: what an access costs, and how a vCPU pays for it.
//
// Each vCPU's core (core.h) has a clock of its own: what its instructions and misses would have
// taken, times the dilation, is to have passed of real time as well. What emulation itself took of
// the processor, or waited on the host's run queue for, is part of that; for the rest the vCPU's
// thread sleeps. A vCPU whose emulation takes longer than what it models lags, which no sleep can
// cure: statistics say by how much.
//
// This part is independent of QEMU: plugin.c calls it from each vCPU's own thread. With
// thread=single all vCPUs would sleep together and times would mean nothing; this is detected and
// reported.
#pragma once

#include "machine/timing/arrivals.h"
#include "machine/timing/caches.h"
#include "machine/timing/config.h"
#include "machine/timing/core.h"
#include "machine/timing/events.h"
#include "machine/timing/kernel.h"
#include "machine/timing/known_blocks.h"
#include "machine/timing/misses.h"
#include "machine/timing/nodes.h"
#include "machine/timing/pages.h"

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
  // Real ns: to have passed; that emulation used or waited for; slept; behind for good; behind
  // until it caught up.
  double modelled, emulated, slept, lagged, late;
  struct node_counters node[k_max_nodes];
};

struct vcpu {
  uint32_t number;
  unsigned epoch;    // last reset applied to its caches and counters
  unsigned switched; // last switching on applied to its clocks
  double ahead;      // real ns that it was ahead of real time when it last paid
  double paid;       // its core's time then
  int64_t paid_at;   // real time then
  struct core core;
  struct core_caches caches;
  struct vcpu_counters counters;
  struct miss_table misses;
  struct page_misses copied; // loads of the page that the kernel copies
  uint64_t copied_page;      // loaded last
  pid_t thread;  // 0 before it first pays
  int schedstat; // file, −1 if the host has none
  double emulation_seen; // real ns
  double behind;         // the least `ahead` since it last caught up, if below 0
  pthread_mutex_t period_lock;                        // of `behind`, `counters.late` and these:
  double period_modelled, period_lagged, period_late; // real ns since the model was switched on
  _Alignas(64) char end[64];
};

struct model {
  atomic_bool on;
  atomic_uint epoch, switched; // of resets; of switching on
  atomic_bool runs_command;    // last switching on was a command's, not its program's
  struct configuration configuration;
  double chunk; // real ns that a vCPU may be ahead
  struct known_blocks* blocks;
  struct shared_cache* llc;
  struct arrivals* arrivals; // at the last level
  struct nodes* nodes;
  struct kernel_model* kernel;     // null: kernel code costs nothing
  struct events* events;           // null: no event unit
  struct made_pages* pages;        // null as well
  struct miss_export* miss_export; // null: misses are not counted by page
  FILE* statistics;
  _Atomic double worst_lag; // since the last reset, as a part of what was modelled
  pthread_mutex_t mark_lock;
  struct vcpu vcpus[k_max_vcpus];
};

// Null: `error` has one line.
struct model* model_create(const char* configuration_path, uint32_t vcpus, char* error,
                           size_t error_size);

// A block of user code begins, or one of the kernel with so many instructions.
void model_block(struct model* model, struct vcpu* vcpu, const struct block* block);
void model_kernel_block(struct model* model, struct vcpu* vcpu, uint32_t instructions);

// An access that hit the first level, and one that did not. reported: physical address as QEMU
// reports it.
static inline void model_hit(struct vcpu* vcpu, const struct block_access* access, uint64_t address,
                             bool store) {
  if (!store || access->locked) core_hit(&vcpu->core, access, address);
  if (store) core_stored(&vcpu->core, access, address);
}
void model_access(struct model* model, struct vcpu* vcpu, const struct block_access* access,
                  uint64_t address, uint64_t reported, bool store);

// No vCPU executes, and none will execute one of the blocks again.
void model_forget_blocks(struct model* model);

// A charged kernel function is called. ns: undilated.
void model_charge(struct model* model, struct vcpu* vcpu, double ns);

// runs_command: a command begins that need not switch the model itself.
void model_switch(struct model* model, struct vcpu* vcpu, bool on, bool runs_command);
void model_reset(struct model* model);
void model_synchronise(struct model* model);
// Writes statistics and a section of misses. mark: 0–15 or MISS_SECTION_END.
void model_mark(struct model* model, uint32_t mark);

// Warns on stderr if emulation was too slow for the machine that it models.
void model_end(struct model* model);

// statistics.c
void statistics_write(struct model* model, uint32_t mark);
