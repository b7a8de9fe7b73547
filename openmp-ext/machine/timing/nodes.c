// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/nodes.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
  k_write_queue = 32,    // lines a node takes before an evicting vCPU has to wait
  k_buffered_blocks = 64 // as the 16 KiB buffer of an Optane module
};

struct node {
  _Atomic int64_t busy_until;
  uint32_t block_lines;
  _Atomic uint64_t read_blocks[k_buffered_blocks], written_blocks[k_buffered_blocks];
};

struct nodes {
  double overlap;
  struct access_cost cost[k_max_vcpus][k_max_nodes]; // dilated
  struct node node[k_max_nodes];
};

struct nodes* nodes_create(const struct configuration* configuration) {
  struct nodes* nodes = calloc(1, sizeof *nodes);
  if (!nodes) return NULL;
  nodes->overlap = configuration->overlap;
  double time = configuration->dilation, slot = time * configuration->bandwidth_divisor;
  for (int v = 0; v < k_max_vcpus; v++)
    for (int n = 0; n < k_max_nodes; n++) {
      const struct access_cost* cost = &configuration->cost[v][n];
      nodes->cost[v][n] =
          (struct access_cost){cost->read_latency * time, cost->write_latency * time,
                               cost->read_slot * slot, cost->write_slot * slot};
    }
  for (int n = 0; n < k_max_nodes; n++)
    nodes->node[n].block_lines = configuration->media_block[n] / k_line_size;
  nodes_clear(nodes, 0);
  return nodes;
}

void nodes_clear(struct nodes* nodes, int64_t now) {
  for (int n = 0; n < k_max_nodes; n++) {
    struct node* node = &nodes->node[n];
    atomic_store_explicit(&node->busy_until, now, memory_order_relaxed);
    for (int i = 0; i < k_buffered_blocks; i++) {
      atomic_store_explicit(&node->read_blocks[i], UINT64_MAX, memory_order_relaxed);
      atomic_store_explicit(&node->written_blocks[i], UINT64_MAX, memory_order_relaxed);
    }
  }
}

// How many slots the line takes: 1, or on block media the whole block the first time and then none.
static uint32_t slots_taken(const struct node* node, _Atomic uint64_t* buffer,
                            uint64_t physical_line) {
  if (node->block_lines == 1) return 1;
  uint64_t block = physical_line / node->block_lines;
  uint64_t held =
      atomic_exchange_explicit(&buffer[block % k_buffered_blocks], block, memory_order_relaxed);
  return held == block ? 0 : node->block_lines;
}

// Takes `length` of the node's time. Returns when it begins.
static int64_t reserve(struct node* node, int64_t now, double length) {
  int64_t busy = atomic_load_explicit(&node->busy_until, memory_order_relaxed), start;
  do
    start = busy > now ? busy : now;
  while (!atomic_compare_exchange_weak_explicit(&node->busy_until, &busy, start + (int64_t)length,
                                                memory_order_relaxed, memory_order_relaxed));
  return start;
}

double nodes_latency(const struct nodes* nodes, uint32_t vcpu, uint32_t node, bool store,
                     bool streamed) {
  const struct access_cost* cost = &nodes->cost[vcpu][node];
  if (store) return cost->write_latency / nodes->overlap;
  return streamed ? cost->read_latency / nodes->overlap : cost->read_latency;
}

double nodes_read(struct nodes* nodes, uint32_t vcpu, uint32_t number, uint64_t physical_line,
                  bool store, bool streamed, int64_t now, double debt) {
  struct node* node = &nodes->node[number];
  double latency = nodes_latency(nodes, vcpu, number, store, streamed);
  // A store reads its line, too, before it can write to it.
  uint32_t slots = slots_taken(node, node->read_blocks, physical_line);
  if (slots == 0) return latency;
  int64_t start = reserve(node, now, slots * nodes->cost[vcpu][number].read_slot);
  double queue = (double)(start - now) - (debt > 0 ? debt : 0);
  return latency + (queue > 0 ? queue : 0);
}

double nodes_write_back(struct nodes* nodes, uint32_t vcpu, uint32_t number, uint64_t physical_line,
                        int64_t now, double debt) {
  struct node* node = &nodes->node[number];
  double slot = nodes->cost[vcpu][number].write_slot;
  uint32_t slots = slots_taken(node, node->written_blocks, physical_line);
  if (slots == 0) return 0;
  int64_t start = reserve(node, now, slots * slot);
  double queue = (double)(start - now) - (debt > 0 ? debt : 0) - k_write_queue * slot;
  return queue > 0 ? queue : 0;
}
