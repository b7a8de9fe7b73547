// SPDX-License-Identifier: GPL-2.0-or-later
//
// The memory nodes: what a line costs, and how vCPUs queue for bandwidth.
//
// Latency is a table, times what the node's curve says of its present load. Bandwidth is one
// backlog per path of a node (reads and writes may have one each): the time until which it is busy,
// advanced by one slot for each line that any vCPU reads or writes back. Slots are reserved from
// *real* now, not from the vCPU's own: it may be ahead of real time, and its reservation would make
// the others wait for nothing. A vCPU takes the lines of a burst at once and then sleeps; so a
// backlog of one burst is no congestion yet. All times are real (dilated) nanoseconds.
//
// Media with blocks larger than a line (Optane: 256 bytes) have two small buffers of recent blocks
// per node, one for reads and one for writes. The first line of a block occupies the node as long
// as the whole block; further lines cost nothing while the block is in the buffer.
//
// A memory may be slower (or faster) with reads and writes mixed than its two bandwidths tell: a
// line that is written takes more (less) time if a read came before it that no other write was
// paired with.
//
// In front of a node may lie a memory-side cache (memory_cache.h). What it has costs its figures;
// what it lacks is looked for in it, read from the node and stored in it.
#pragma once

#include "machine/timing/config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nodes;

// burst: real ns that a vCPU may be ahead.
struct nodes* nodes_create(const struct configuration* configuration, double burst);
void nodes_clear(struct nodes* nodes, int64_t now);

// The latency of a line at the node's present load.
double nodes_latency(const struct nodes* nodes, uint32_t vcpu, uint32_t node,
                     uint64_t physical_line, bool store);

// Reads one line, as a load or for a store, for a vCPU that is `ahead` of real time. Returns how
// long it waits for bandwidth.
double nodes_read(struct nodes* nodes, uint32_t vcpu, uint32_t node, uint64_t physical_line,
                  int64_t now, double ahead);

// The last level evicts a dirty line, which occupies the node. The vCPU waits only if the queue of
// writes is full. Returns how long.
double nodes_write_back(struct nodes* nodes, uint32_t vcpu, uint32_t node, uint64_t physical_line,
                        int64_t now, double ahead);

#ifdef __cplusplus
}
#endif
