// SPDX-License-Identifier: GPL-2.0-or-later
//
// A core that executes out of order, as an interval model sees it (README.md, "The core"):
// instructions pass at a steady pace, and only what must wait for a long miss stops them. All times
// are the core's own, in undilated nanoseconds.
#pragma once

#include "machine/timing/block.h"
#include "machine/timing/config.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  k_most_outstanding = k_max_flight,
  k_branches_kept = 1 << 14,
  k_history = 10,
  k_soon_kept = 128
};

struct miss_in_flight {
  uint64_t position; // of its instruction
  double end;
};

// What a load from the caches may have to wait for. One that is forgotten costs nothing.
struct value_soon {
  uint64_t what; // a line on its way, or a word of 8 bytes that was stored
  double time;
};

struct core {
  double instruction;             // ns of one
  double wrong_branch;            // ns that a wrong prediction costs
  uint32_t window;                // instructions
  uint32_t outstanding;           // misses
  uint32_t stores;                // lines that are stored to and not there yet
  uint32_t prefetched;            // lines of streams in flight
  double now;                     // the next instruction's time
  double pending;                 // no value comes later than this
  uint64_t position;              // instructions so far
  const struct block* block;      // that is executed
  double registers[k_registers];  // when their values are there
  double loads[k_loads_of_block]; // the same of the block's loads
  struct value_soon soon[k_soon_kept];
  struct miss_in_flight waiting[k_most_outstanding]; // loads, in the program's order: a ring
  uint32_t first_waiting, waiting_count;
  double ends[k_most_outstanding];       // of outstanding misses, in no order
  double store_ends[k_most_outstanding]; // of stores
  double taken[k_most_outstanding];      // when the last lines of streams were: a ring
  uint32_t next_taken;
  uint32_t history;                     // of branches: a bit each, the last one lowest
  uint8_t predictions[k_branches_kept]; // 0–3; from 2 on: taken
};

void core_create(struct core* core, const struct configuration* configuration);
void core_clear(struct core* core);

// A block begins: its instructions pass, and misses that are too far behind are waited for.
void core_block(struct core* core, const struct block* block);

// Instructions whose registers do not matter: of the kernel.
void core_instructions(struct core* core, uint32_t count);

// When the address of an access is known.
double core_address(const struct core* core, const struct block_access* access);

// A load that found its line near: its value is there as soon as its address, or later if the line
// is on its way or the value was stored a moment ago.
void core_hit(struct core* core, const struct block_access* access, uint64_t address);

// A store, wherever its line is: who loads the value has it when it is known.
void core_stored(struct core* core, const struct block_access* access, uint64_t address);

// A miss begins at the time that is returned; it is ended when the caller knows how long its line
// takes. A load waits for its address and for a place. The core goes on meanwhile, unless the
// instruction is locked.
double core_load(struct core* core, const struct block_access* access);
void core_load_ends(struct core* core, const struct block_access* access, uint64_t address,
                    double begin, double end);

// A store's line waits in the core's buffer. If that is full, the core waits.
double core_store(struct core* core, const struct block_access* access);
void core_store_ends(struct core* core, double begin, double end);

// A line of a stream that began at `began`. A prefetcher requested it when the core took the line
// that is as many lines before it as prefetchers keep in flight.
double core_prefetch(const struct core* core, double latency, double began);
void core_prefetch_ends(struct core* core, const struct block_access* access, uint64_t address,
                        double end);

// Waits for everything in flight.
void core_drain(struct core* core);

#ifdef __cplusplus
}
#endif
