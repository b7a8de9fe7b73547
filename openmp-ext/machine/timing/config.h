// SPDX-License-Identifier: GPL-2.0-or-later
//
// The time model's configuration, read from a file (format: README.md) and checked.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  k_max_vcpus = 16,
  k_max_nodes = 16,
  k_max_ranges = 32,
  k_max_points = 8, // of a curve
  k_max_flight = 64, // misses of a core
  k_line_size = 64,  // bytes of a cache line
  k_page_size = 4096 // bytes of a page in counts
};

// A contiguous piece of a node's RAM.
struct memory_range {
  uint32_t node;
  uint64_t reported; // address in QEMU's plugin interface
  uint64_t size;
  uint64_t physical; // guest-physical address
};

// Cost of a node for a vCPU, undilated nanoseconds. Slot: the time that one line occupies it.
struct access_cost {
  double read_latency, write_latency;
  double read_slot, write_slot;
};

// Latency over the idle one, by the part of the bandwidth that is used: straight between points.
struct load_curve {
  uint32_t points;
  double used[k_max_points], times[k_max_points];
};

// Memory in front of a node that holds copies of its lines, direct mapped.
struct memory_side_cache {
  uint64_t size; // bytes; 0: none
  struct access_cost cost;
};

struct cache_shape {
  uint64_t size;
  uint32_t ways;
  double hit; // undilated nanoseconds of a load that hits here outside any stream
};

struct configuration {
  uint32_t vcpus;
  struct memory_range ranges[k_max_ranges];
  uint32_t range_count;
  struct access_cost cost[k_max_vcpus][k_max_nodes];
  uint32_t media_block[k_max_nodes]; // bytes
  bool duplex[k_max_nodes];          // reads and writes have a path each
  double mixed_slot[k_max_nodes];    // undilated ns of a line among as many reads as writes; 0: none
  struct memory_side_cache memory_side_cache[k_max_nodes];
  struct cache_shape l1, l2, llc;
  double dilation, bandwidth_divisor;
  double instruction, wrong_branch;          // undilated ns that one takes
  uint32_t window, outstanding;              // of a core: instructions; misses in flight
  uint32_t prefetched, stores;               // lines in flight: of streams, of stores
  struct load_curve load_curve[k_max_nodes]; // latency under load
  bool sleep; // false: only count misses
  uint64_t event_period;
  // Paths; empty: none.
  char symbols[512], misses[512], events[512], statistics[512];
};

// Reads and checks the file for a machine with this many vCPUs. False: `error` has one line,
// without newline, that names file and line.
bool configuration_read(const char* path, uint32_t vcpus, struct configuration* configuration,
                        char* error, size_t error_size);

// Null if no range contains the address.
static inline const struct memory_range* configuration_range(const struct configuration* c,
                                                             uint64_t reported) {
  for (uint32_t i = 0; i < c->range_count; i++)
    if (reported - c->ranges[i].reported < c->ranges[i].size) return &c->ranges[i];
  return NULL;
}

#ifdef __cplusplus
}
#endif
