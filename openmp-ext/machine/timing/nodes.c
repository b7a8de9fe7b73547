// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/nodes.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
  k_write_queue = 32, // lines a node queues before an evicting vCPU waits
  k_buffer_sets = 64, // 256 blocks in all: 16 KiB in each of four interleaved Optane modules
  k_buffer_ways = 4,
};

static const double k_window = 20e3; // undilated ns, over which a node's load is measured

// Recently read or written blocks: number + 1, 0 = empty.
struct block_buffer {
  _Atomic uint64_t blocks[k_buffer_sets][k_buffer_ways];
  _Atomic uint8_t next[k_buffer_sets];
};

struct node {
  _Atomic int64_t busy_until;
  _Atomic int64_t window_begin, window_busy; // of the load that is being measured
  _Atomic double times;                      // latency over idle, by the window before
  uint32_t block_lines;
  struct block_buffer read, written;
};

struct nodes {
  double window; // real ns
  struct load_curve load_curve[k_max_nodes];
  struct access_cost cost[k_max_vcpus][k_max_nodes]; // dilated
  struct node node[k_max_nodes];
};

struct nodes* nodes_create(const struct configuration* configuration) {
  struct nodes* nodes = calloc(1, sizeof *nodes);
  if (!nodes) return NULL;
  nodes->window = k_window * configuration->dilation;
  memcpy(nodes->load_curve, configuration->load_curve, sizeof nodes->load_curve);
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
    struct node* node = &nodes->node[n];
    atomic_store_explicit(&node->busy_until, now, memory_order_relaxed);
    atomic_store_explicit(&node->window_begin, now, memory_order_relaxed);
    atomic_store_explicit(&node->window_busy, 0, memory_order_relaxed);
    atomic_store_explicit(&node->times, 1, memory_order_relaxed);
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

static double times_at(const struct load_curve* curve, double used) {
  for (uint32_t i = 1; i < curve->points; i++)
    if (used < curve->used[i])
      return curve->times[i - 1] + (curve->times[i] - curve->times[i - 1]) *
                                       (used - curve->used[i - 1]) /
                                       (curve->used[i] - curve->used[i - 1]);
  return curve->times[curve->points - 1];
}

// Whoever ends a window sets the latency of the next. A line that is counted meanwhile may be lost.
static void measure_load(const struct nodes* nodes, uint32_t number, struct node* node, int64_t now,
                         double length) {
  atomic_fetch_add_explicit(&node->window_busy, (int64_t)length, memory_order_relaxed);
  int64_t begin = atomic_load_explicit(&node->window_begin, memory_order_relaxed);
  if ((double)(now - begin) < nodes->window ||
      !atomic_compare_exchange_strong_explicit(&node->window_begin, &begin, now,
                                               memory_order_relaxed, memory_order_relaxed))
    return;
  int64_t busy = atomic_exchange_explicit(&node->window_busy, 0, memory_order_relaxed);
  atomic_store_explicit(&node->times,
                        times_at(&nodes->load_curve[number], (double)busy / (double)(now - begin)),
                        memory_order_relaxed);
}

// Reserves `length` of the node's time. Returns how long a vCPU that is `ahead` waits until it
// begins.
static double reserve(struct node* node, int64_t now, double ahead, double length) {
  // A vCPU that is behind real time may use time of the node that has passed.
  if (ahead < 0) now += (int64_t)ahead, ahead = 0;
  int64_t busy = atomic_load_explicit(&node->busy_until, memory_order_relaxed), start;
  do
    start = busy > now ? busy : now;
  while (!atomic_compare_exchange_weak_explicit(&node->busy_until, &busy, start + (int64_t)length,
                                                memory_order_relaxed, memory_order_relaxed));
  return (double)(start - now) - ahead;
}

double nodes_latency(const struct nodes* nodes, uint32_t vcpu, uint32_t node, bool store) {
  const struct access_cost* cost = &nodes->cost[vcpu][node];
  return (store ? cost->write_latency : cost->read_latency) *
         atomic_load_explicit(&nodes->node[node].times, memory_order_relaxed);
}

double nodes_read(struct nodes* nodes, uint32_t vcpu, uint32_t number, uint64_t physical_line,
                  int64_t now, double ahead) {
  struct node* node = &nodes->node[number];
  double slot = nodes->cost[vcpu][number].read_slot;
  double length = slots_taken(node, &node->read, physical_line) * slot;
  if (length == 0) return 0;
  measure_load(nodes, number, node, now, length);
  double queue = reserve(node, now, ahead, length);
  return queue > 0 ? queue : 0;
}

double nodes_write_back(struct nodes* nodes, uint32_t vcpu, uint32_t number, uint64_t physical_line,
                        int64_t now, double ahead) {
  struct node* node = &nodes->node[number];
  double slot = nodes->cost[vcpu][number].write_slot;
  double length = slots_taken(node, &node->written, physical_line) * slot;
  if (length == 0) return 0;
  measure_load(nodes, number, node, now, length);
  double queue = reserve(node, now, ahead, length) - k_write_queue * slot;
  return queue > 0 ? queue : 0;
}
