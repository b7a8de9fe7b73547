// SPDX-License-Identifier: GPL-2.0-or-later
//
// The memory nodes: what a line costs, and how vCPUs queue for bandwidth.
//
// Latency is a table. Bandwidth is one backlog per node: the time until which it is busy, advanced
// by one slot for each line that any vCPU reads or writes back. Slots are reserved from *real* now,
// not from the vCPU's now + debt: a vCPU is ahead of real time by its debt, and its reservation
// would make the others wait for nothing. All times are real (dilated) nanoseconds.
//
// Media with blocks larger than a line (Optane: 256 bytes) have two small buffers of recent blocks
// per node, one for reads and one for writes. The first line of a block occupies the node as long
// as the whole block; further lines cost nothing while the block is in the buffer.
#pragma once

#include "machine/timing/config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nodes;

struct nodes* nodes_create(const struct configuration* configuration);
void nodes_clear(struct nodes* nodes, int64_t now);

// Reads one line for a vCPU that owes `debt`. Returns the additional wait.
double nodes_read(struct nodes* nodes, uint32_t vcpu, uint32_t node, uint64_t physical_line,
                  bool store, bool streamed, int64_t now, double debt);

// The last level evicts a dirty line, which occupies the node. The vCPU waits only if the queue of
// writes is full. Returns the additional wait.
double nodes_write_back(struct nodes* nodes, uint32_t vcpu, uint32_t node, uint64_t physical_line,
                        int64_t now, double debt);

// Latency alone, for mode count, in which nothing is slowed down.
double nodes_latency(const struct nodes* nodes, uint32_t vcpu, uint32_t node, bool store,
                     bool streamed);

#ifdef __cplusplus
}
#endif
