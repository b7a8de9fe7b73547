// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/nodes.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
  k_write_queue = 32, // lines a node queues before an evicting vCPU waits
  k_buffer_sets = 64, // 256 blocks in all: 16 KiB in each of four interleaved Optane modules
  k_buffer_ways = 4,
};

// Recently read or written blocks: number + 1, 0 = empty.
struct block_buffer {
  _Atomic uint64_t blocks[k_buffer_sets][k_buffer_ways];
  _Atomic uint8_t next[k_buffer_sets];
};

struct node {
  _Atomic int64_t busy_until;
  uint32_t block_lines;
  struct block_buffer read, written;
};

struct nodes {
  double read_overlap, store_overlap;
  struct access_cost cost[k_max_vcpus][k_max_nodes]; // dilated
  struct node node[k_max_nodes];
};

struct nodes* nodes_create(const struct configuration* configuration) {
  struct nodes* nodes = calloc(1, sizeof *nodes);
  if (!nodes) return NULL;
  nodes->read_overlap = configuration->read_overlap;
  nodes->store_overlap = configuration->store_overlap;
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

static void clear_buffer(struct block_buffer* buffer) {
  for (int set = 0; set < k_buffer_sets; set++)
    for (int way = 0; way < k_buffer_ways; way++)
      atomic_store_explicit(&buffer->blocks[set][way], 0, memory_order_relaxed);
}

void nodes_clear(struct nodes* nodes, int64_t now) {
  for (int n = 0; n < k_max_nodes; n++) {
    atomic_store_explicit(&nodes->node[n].busy_until, now, memory_order_relaxed);
    clear_buffer(&nodes->node[n].read);
    clear_buffer(&nodes->node[n].written);
  }
}

// How many slots the line takes: 1; on block media, the whole block the first time and then none.
// The buffer is set-associative with a hashed set, so that aligned arrays do not evict each other.
static uint32_t slots_taken(const struct node* node, struct block_buffer* buffer,
                            uint64_t physical_line) {
  if (node->block_lines == 1) return 1;
  uint64_t tag = physical_line / node->block_lines + 1;
  uint64_t set = tag * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (k_buffer_sets - 1);
  for (int way = 0; way < k_buffer_ways; way++)
    if (atomic_load_explicit(&buffer->blocks[set][way], memory_order_relaxed) == tag) return 0;
  uint8_t way = atomic_load_explicit(&buffer->next[set], memory_order_relaxed);
  atomic_store_explicit(&buffer->next[set], (uint8_t)((way + 1u) % k_buffer_ways),
                        memory_order_relaxed);
  atomic_store_explicit(&buffer->blocks[set][way], tag, memory_order_relaxed);
  return node->block_lines;
}

// Reserves `length` of the node's time. Returns how long a vCPU that owes `debt` waits until it
// begins.
static double reserve(struct node* node, int64_t now, double debt, double length) {
  // A vCPU with credit is behind real time: it may use time of the node that has passed.
  if (debt < 0) now += (int64_t)debt, debt = 0;
  int64_t busy = atomic_load_explicit(&node->busy_until, memory_order_relaxed), start;
  do
    start = busy > now ? busy : now;
  while (!atomic_compare_exchange_weak_explicit(&node->busy_until, &busy, start + (int64_t)length,
                                                memory_order_relaxed, memory_order_relaxed));
  return (double)(start - now) - debt;
}

double nodes_latency(const struct nodes* nodes, uint32_t vcpu, uint32_t node, bool store,
                     bool streamed) {
  const struct access_cost* cost = &nodes->cost[vcpu][node];
  if (store) return cost->write_latency / nodes->store_overlap;
  return streamed ? cost->read_latency / nodes->read_overlap : cost->read_latency;
}

double nodes_read(struct nodes* nodes, uint32_t vcpu, uint32_t number, uint64_t physical_line,
                  bool store, bool streamed, int64_t now, double debt) {
  struct node* node = &nodes->node[number];
  double latency = nodes_latency(nodes, vcpu, number, store, streamed);
  // A store also reads its line first.
  uint32_t slots = slots_taken(node, &node->read, physical_line);
  if (slots == 0) return latency;
  double queue = reserve(node, now, debt, slots * nodes->cost[vcpu][number].read_slot);
  return latency + (queue > 0 ? queue : 0);
}

double nodes_write_back(struct nodes* nodes, uint32_t vcpu, uint32_t number, uint64_t physical_line,
                        int64_t now, double debt) {
  struct node* node = &nodes->node[number];
  double slot = nodes->cost[vcpu][number].write_slot;
  uint32_t slots = slots_taken(node, &node->written, physical_line);
  if (slots == 0) return 0;
  double queue = reserve(node, now, debt, slots * slot) - k_write_queue * slot;
  return queue > 0 ? queue : 0;
}
