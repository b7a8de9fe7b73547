// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/nodes.h"

#include "machine/timing/memory_cache.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
  k_write_queue = 32, // lines a node queues before an evicting vCPU waits
  k_buffer_sets = 64, // 256 blocks in all: 16 KiB in each of four interleaved Optane modules
  k_buffer_ways = 4,
  k_most_ahead = 256, // lines read that wait for a write to pair with
};

static const double k_window = 20e3; // undilated ns, over which a node's load is measured

// Recently read or written blocks: number + 1, 0 = empty.
struct block_buffer {
  _Atomic uint64_t blocks[k_buffer_sets][k_buffer_ways];
  _Atomic uint8_t next[k_buffer_sets];
};

// What the lines of a node go through, one after the other.
struct path {
  _Atomic int64_t busy_until;
  _Atomic int64_t window_begin, window_busy; // of the load that is being measured
  _Atomic double times;                      // latency over idle, by the window before
};

struct node {
  struct path reads, writes; // writes: only of a node with a path for each
  bool duplex;
  uint32_t block_lines;
  double mixing;               // that a read and a write take beyond their two slots, dilated
  _Atomic uint32_t reads_ahead; // lines read and not yet paired with a written one
  struct block_buffer read, written;
  struct memory_cache* cache; // or null
  struct access_cost cache_cost;
  struct path to_cache;
};

struct nodes {
  double window, burst; // real ns
  struct load_curve load_curve[k_max_nodes];
  struct access_cost cost[k_max_vcpus][k_max_nodes]; // dilated
  struct node node[k_max_nodes];
};

static struct access_cost dilated(const struct access_cost* cost, const struct configuration* c) {
  double time = c->dilation, slot = time * c->bandwidth_divisor;
  return (struct access_cost){cost->read_latency * time, cost->write_latency * time,
                              cost->read_slot * slot, cost->write_slot * slot};
}

static double mixing(const struct configuration* c, int node) {
  if (c->mixed_slot[node] == 0) return 0;
  double apart = INFINITY; // of the vCPUs that are nearest
  for (uint32_t v = 0; v < c->vcpus; v++)
    apart = fmin(apart, c->cost[v][node].read_slot + c->cost[v][node].write_slot);
  return (2 * c->mixed_slot[node] - apart) * c->dilation * c->bandwidth_divisor;
}

struct nodes* nodes_create(const struct configuration* configuration, double burst) {
  struct nodes* nodes = calloc(1, sizeof *nodes);
  if (!nodes) return NULL;
  nodes->window = k_window * configuration->dilation;
  nodes->burst = burst;
  memcpy(nodes->load_curve, configuration->load_curve, sizeof nodes->load_curve);
  for (int v = 0; v < k_max_vcpus; v++)
    for (int n = 0; n < k_max_nodes; n++)
      nodes->cost[v][n] = dilated(&configuration->cost[v][n], configuration);
  for (int n = 0; n < k_max_nodes; n++) {
    const struct memory_side_cache* cache = &configuration->memory_side_cache[n];
    struct node* node = &nodes->node[n];
    node->block_lines = configuration->media_block[n] / k_line_size;
    node->duplex = configuration->duplex[n];
    node->mixing = mixing(configuration, n);
    node->cache_cost = dilated(&cache->cost, configuration);
    if (cache->size > 0 && !(node->cache = memory_cache_create(cache->size))) return NULL;
  }
  nodes_clear(nodes, 0);
  return nodes;
}

static void clear_buffer(struct block_buffer* buffer) {
  for (int set = 0; set < k_buffer_sets; set++)
    for (int way = 0; way < k_buffer_ways; way++)
      atomic_store_explicit(&buffer->blocks[set][way], 0, memory_order_relaxed);
}

static void clear_path(struct path* path, int64_t now) {
  atomic_store_explicit(&path->busy_until, now, memory_order_relaxed);
  atomic_store_explicit(&path->window_begin, now, memory_order_relaxed);
  atomic_store_explicit(&path->window_busy, 0, memory_order_relaxed);
  atomic_store_explicit(&path->times, 1, memory_order_relaxed);
}

void nodes_clear(struct nodes* nodes, int64_t now) {
  for (int n = 0; n < k_max_nodes; n++) {
    struct node* node = &nodes->node[n];
    clear_path(&node->reads, now);
    clear_path(&node->writes, now);
    clear_path(&node->to_cache, now);
    atomic_store_explicit(&node->reads_ahead, 0, memory_order_relaxed);
    clear_buffer(&node->read);
    clear_buffer(&node->written);
    if (node->cache) memory_cache_clear(node->cache);
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
static void measure_load(struct path* path, const struct load_curve* curve, double window,
                         int64_t now, double length) {
  atomic_fetch_add_explicit(&path->window_busy, (int64_t)length, memory_order_relaxed);
  int64_t begin = atomic_load_explicit(&path->window_begin, memory_order_relaxed);
  if ((double)(now - begin) < window ||
      !atomic_compare_exchange_strong_explicit(&path->window_begin, &begin, now,
                                               memory_order_relaxed, memory_order_relaxed))
    return;
  int64_t busy = atomic_exchange_explicit(&path->window_busy, 0, memory_order_relaxed);
  atomic_store_explicit(&path->times, times_at(curve, (double)busy / (double)(now - begin)),
                        memory_order_relaxed);
}

// When a vCPU wants a line: the real time, and how far the vCPU is ahead of it.
struct moment {
  int64_t now;
  double ahead;
};

// Reserves `length` of the path's time. Returns how long the vCPU waits until it begins.
static double reserve(struct path* path, struct moment when, double length) {
  // A vCPU that is behind real time may use time of the node that has passed.
  if (when.ahead < 0) when.now += (int64_t)when.ahead, when.ahead = 0;
  int64_t busy = atomic_load_explicit(&path->busy_until, memory_order_relaxed), start;
  do
    start = busy > when.now ? busy : when.now;
  while (!atomic_compare_exchange_weak_explicit(&path->busy_until, &busy, start + (int64_t)length,
                                                memory_order_relaxed, memory_order_relaxed));
  return (double)(start - when.now) - when.ahead;
}

static double use_path(struct nodes* nodes, uint32_t number, struct path* path, struct moment when,
                       double length) {
  if (length == 0) return 0;
  measure_load(path, &nodes->load_curve[number], nodes->window, when.now, length);
  double queue = reserve(path, when, length) - nodes->burst;
  return queue > 0 ? queue : 0;
}

// Losing a count in a race is harmless.
static void lines_read(struct node* node, uint32_t lines) {
  uint32_t ahead = atomic_load_explicit(&node->reads_ahead, memory_order_relaxed) + lines;
  atomic_store_explicit(&node->reads_ahead, ahead < k_most_ahead ? ahead : k_most_ahead,
                        memory_order_relaxed);
}

static double lines_written(struct node* node, uint32_t lines) {
  uint32_t ahead = atomic_load_explicit(&node->reads_ahead, memory_order_relaxed);
  uint32_t pairs = lines < ahead ? lines : ahead;
  atomic_store_explicit(&node->reads_ahead, ahead - pairs, memory_order_relaxed);
  return pairs * node->mixing;
}

static double read_node(struct nodes* nodes, uint32_t vcpu, uint32_t number, uint64_t line,
                        struct moment when) {
  struct node* node = &nodes->node[number];
  uint32_t slots = slots_taken(node, &node->read, line);
  double length = slots * nodes->cost[vcpu][number].read_slot;
  if (node->mixing != 0) lines_read(node, slots);
  return use_path(nodes, number, &node->reads, when, length);
}

static double write_node(struct nodes* nodes, uint32_t vcpu, uint32_t number, uint64_t line,
                         struct moment when) {
  struct node* node = &nodes->node[number];
  uint32_t slots = slots_taken(node, &node->written, line);
  double length = slots * nodes->cost[vcpu][number].write_slot;
  if (node->mixing != 0) length += lines_written(node, slots);
  return use_path(nodes, number, node->duplex ? &node->writes : &node->reads, when, length);
}

static double after_queue(double queue, double slot) {
  return queue > k_write_queue * slot ? queue - k_write_queue * slot : 0;
}

double nodes_latency(const struct nodes* nodes, uint32_t vcpu, uint32_t number, uint64_t line,
                     bool store) {
  const struct node* node = &nodes->node[number];
  const struct access_cost* cost = &nodes->cost[vcpu][number];
  double latency = (store ? cost->write_latency : cost->read_latency) *
                   atomic_load_explicit(&node->reads.times, memory_order_relaxed);
  if (!node->cache) return latency;
  double looked =
      (store ? node->cache_cost.write_latency : node->cache_cost.read_latency) *
      atomic_load_explicit(&node->to_cache.times, memory_order_relaxed);
  return memory_cache_has(node->cache, line) ? looked : looked + latency;
}

// Stores a line in the cache before a node; the line that makes room returns to the node.
static double fill_cache(struct nodes* nodes, uint32_t vcpu, uint32_t number, uint64_t line,
                         bool write, struct moment when) {
  struct node* node = &nodes->node[number];
  double queue = use_path(nodes, number, &node->to_cache, when, node->cache_cost.write_slot);
  uint64_t left = memory_cache_fill(node->cache, line, write);
  if (left != UINT64_MAX) {
    double returned = write_node(nodes, vcpu, number, left, when);
    if (returned > queue) queue = returned;
  }
  return after_queue(queue, node->cache_cost.write_slot);
}

double nodes_read(struct nodes* nodes, uint32_t vcpu, uint32_t number, uint64_t line, int64_t now,
                  double ahead) {
  struct node* node = &nodes->node[number];
  struct moment when = {now, ahead};
  if (!node->cache) return read_node(nodes, vcpu, number, line, when);
  double queue = use_path(nodes, number, &node->to_cache, when, node->cache_cost.read_slot);
  if (memory_cache_has(node->cache, line)) return queue;
  queue += read_node(nodes, vcpu, number, line, when);
  return queue + fill_cache(nodes, vcpu, number, line, false, when);
}

double nodes_write_back(struct nodes* nodes, uint32_t vcpu, uint32_t number, uint64_t line,
                        int64_t now, double ahead) {
  struct node* node = &nodes->node[number];
  struct moment when = {now, ahead};
  if (node->cache) return fill_cache(nodes, vcpu, number, line, true, when);
  return after_queue(write_node(nodes, vcpu, number, line, when),
                     nodes->cost[vcpu][number].write_slot);
}
