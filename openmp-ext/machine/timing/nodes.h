// SPDX-License-Identifier: GPL-2.0-or-later
//
// The memory nodes: what a line costs, and who has to wait for whom.
//
// Latency is a table. Bandwidth is one backlog per node: the instant until which it is busy, moved
// on by one slot for each line read or written back, by any vCPU. Slots are reserved from *real*
// now, not from the vCPU's own now + debt: a vCPU runs ahead of real time by what it owes, and a
// backlog moved by one that is ahead would make the others wait for nothing. All times here are
// real (dilated) nanoseconds.
//
// Media that work in blocks larger than a line (Optane: 256 bytes) are modelled by two small
// buffers of recent blocks per node, one for reads and one for writes: the first line of a block
// occupies the node as long as the whole block, further lines cost nothing while the block is in
// the buffer.
#pragma once

#include "machine/timing/config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nodes;

struct nodes* nodes_create(const struct configuration* configuration);
void nodes_clear(struct nodes* nodes, int64_t now);

// Makes a vCPU that owes `debt` already wait for one line. Returns the additional wait.
double nodes_read(struct nodes* nodes, uint32_t vcpu, uint32_t node, uint64_t physical_line,
                  bool store, bool streamed, int64_t now, double debt);

// The last level evicts a dirty line: occupies the node; the vCPU waits only if the queue of writes
// is full.
double nodes_write_back(struct nodes* nodes, uint32_t vcpu, uint32_t node, uint64_t physical_line,
                        int64_t now, double debt);

// Latency alone, when nothing is slowed (mode count).
double nodes_latency(const struct nodes* nodes, uint32_t vcpu, uint32_t node, bool store,
                     bool streamed);

#ifdef __cplusplus
}
#endif
