// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/caches.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
  k_lines_per_page = k_page_size / k_line_size,
  k_longest_stride = 8, // lines; prefetchers do not follow longer ones within a page
  k_run_of_a_stream = 2
};

bool core_caches_create(struct core_caches* caches, const struct configuration* configuration) {
  uint64_t l1_lines = configuration->l1.size / k_line_size;
  uint64_t l2_sets = configuration->l2.size / k_line_size / configuration->l2.ways;
  *caches = (struct core_caches){
      .l1 = calloc(l1_lines, sizeof *caches->l1),
      .l1_mask = l1_lines - 1,
      .l2 = calloc(l2_sets * configuration->l2.ways, sizeof *caches->l2),
      .l2_next = calloc(l2_sets, 1),
      .l2_mask = l2_sets - 1,
      .l2_ways = configuration->l2.ways,
  };
  if (!caches->l1 || !caches->l2 || !caches->l2_next) return false;
  core_caches_clear(caches);
  return true;
}

void core_caches_clear(struct core_caches* caches) {
  memset(caches->l1, 0xff, (caches->l1_mask + 1) * sizeof *caches->l1);
  memset(caches->l2, 0, (caches->l2_mask + 1) * caches->l2_ways * sizeof *caches->l2);
  memset(caches->l2_next, 0, caches->l2_mask + 1);
  memset(caches->streams, 0, sizeof caches->streams);
  for (int i = 0; i < k_streams; i++)
    caches->streams[i].page = UINT64_MAX - 1;
  caches->uses = 0;
}

// Mixes in higher bits, so that arrays at the same offset of large pages do not share sets.
static inline uint64_t set_of(uint64_t line, uint64_t mask) {
  return (line ^ (line >> 11) ^ (line >> 19)) & mask;
}

bool core_l2_access(struct core_caches* caches, uint64_t physical_line) {
  uint64_t set = set_of(physical_line, caches->l2_mask), tag = physical_line + 1;
  uint64_t* ways = caches->l2 + set * caches->l2_ways;
  for (uint32_t i = 0; i < caches->l2_ways; i++)
    if (ways[i] == tag) return true;
  uint8_t* next = &caches->l2_next[set];
  ways[*next] = tag;
  *next = (uint8_t)((*next + 1u) % caches->l2_ways);
  return false;
}

void core_streams_restart(struct core_caches* caches) {
  for (int i = 0; i < k_streams; i++)
    caches->streams[i].began = 0;
}

static bool advance_stream(struct stream* stream, int line) {
  int stride = line - stream->line;
  bool follows = stride != 0 && abs(stride) <= k_longest_stride && stride == stream->stride;
  // Lines that were already cached leave gaps: one line more in the same direction continues the
  // stream.
  bool gap = abs(stride) <= 2 && (stride > 0) == (stream->stride > 0) && abs(stream->stride) <= 2;
  if (follows || (stride != 0 && gap))
    stream->run++;
  else if (stride != 0)
    stream->run = abs(stride) <= k_longest_stride ? 1 : 0;
  if (stride != 0) stream->stride = stride;
  stream->line = line;
  return stream->run >= k_run_of_a_stream;
}

bool core_stream_access(struct core_caches* caches, uint64_t physical_line, double now,
                        double* began) {
  uint64_t page = physical_line / k_lines_per_page;
  int line = (int)(physical_line % k_lines_per_page);
  struct stream *oldest = caches->streams, *before = NULL;
  for (struct stream* s = caches->streams; s < caches->streams + k_streams; s++) {
    if (s->page == page) {
      s->used = ++caches->uses;
      *began = s->began;
      return advance_stream(s, line);
    }
    if (s->page + 1 == page && s->run >= k_run_of_a_stream && s->stride > 0 &&
        s->line + 2 * s->stride >= k_lines_per_page && line < 2 * s->stride)
      before = s;
    if (s->used < oldest->used) oldest = s;
  }
  // A new page: a stream that ended at the page before continues here.
  int stride = before ? before->stride : 0, run = before ? before->run : 0;
  *began = before ? before->began : now;
  *oldest = (struct stream){page, line, stride, run, ++caches->uses, *began};
  return before != NULL;
}

// All vCPUs use the last level concurrently without a lock. Every word is a relaxed atomic; two
// simultaneous insertions into one set may lose one line, which is harmless.
struct shared_cache {
  uint64_t mask;
  uint32_t ways;
  _Atomic uint8_t* next;
  _Atomic uint64_t* lines; // (physical line + 1) << 1 | dirty; 0 = empty
};

struct shared_cache* shared_cache_create(const struct cache_shape* shape) {
  struct shared_cache* cache = calloc(1, sizeof *cache);
  if (!cache) return NULL;
  uint64_t sets = shape->size / k_line_size / shape->ways;
  cache->mask = sets - 1;
  cache->ways = shape->ways;
  cache->next = calloc(sets, sizeof *cache->next);
  cache->lines = calloc(sets * shape->ways, sizeof *cache->lines);
  return cache->next && cache->lines ? cache : NULL;
}

void shared_cache_clear(struct shared_cache* cache) {
  for (uint64_t i = 0; i < (cache->mask + 1) * cache->ways; i++)
    atomic_store_explicit(&cache->lines[i], 0, memory_order_relaxed);
}

bool shared_cache_access(struct shared_cache* cache, uint64_t physical_line, bool store,
                         uint64_t* evicted) {
  uint64_t set = set_of(physical_line, cache->mask), tag = physical_line + 1;
  _Atomic uint64_t* ways = cache->lines + set * cache->ways;
  *evicted = UINT64_MAX;
  for (uint32_t i = 0; i < cache->ways; i++) {
    uint64_t held = atomic_load_explicit(&ways[i], memory_order_relaxed);
    if (held >> 1 != tag) continue;
    if (store && !(held & 1)) atomic_store_explicit(&ways[i], held | 1, memory_order_relaxed);
    return true;
  }
  uint8_t victim = atomic_load_explicit(&cache->next[set], memory_order_relaxed);
  atomic_store_explicit(&cache->next[set], (uint8_t)((victim + 1u) % cache->ways),
                        memory_order_relaxed);
  uint64_t old = atomic_exchange_explicit(&ways[victim], tag << 1 | store, memory_order_relaxed);
  if (old & 1) *evicted = (old >> 1) - 1;
  return false;
}
