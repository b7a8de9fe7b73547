// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/memory_cache.h"

#include "machine/timing/config.h"

#include <stdatomic.h>
#include <stdlib.h>

// A place has the number of the line's round through the cache, plus one, and whether it was
// written; 0: empty. The guest's memory is less than 127 times the cache.
enum { k_rounds = 127 };

struct memory_cache {
  uint64_t lines;
  _Atomic uint8_t* places;
};

struct memory_cache* memory_cache_create(uint64_t bytes) {
  struct memory_cache* cache = calloc(1, sizeof *cache);
  if (!cache) return NULL;
  cache->lines = bytes / k_line_size;
  cache->places = calloc(cache->lines, sizeof *cache->places);
  return cache->places ? cache : NULL;
}

void memory_cache_clear(struct memory_cache* cache) {
  for (uint64_t i = 0; i < cache->lines; i++)
    atomic_store_explicit(&cache->places[i], 0, memory_order_relaxed);
}

static uint8_t round_of(const struct memory_cache* cache, uint64_t line) {
  return (uint8_t)(line / cache->lines % k_rounds + 1);
}

bool memory_cache_has(const struct memory_cache* cache, uint64_t line) {
  uint8_t held = atomic_load_explicit(&cache->places[line % cache->lines], memory_order_relaxed);
  return held >> 1 == round_of(cache, line);
}

uint64_t memory_cache_fill(struct memory_cache* cache, uint64_t line, bool write) {
  _Atomic uint8_t* place = &cache->places[line % cache->lines];
  uint8_t held = atomic_load_explicit(place, memory_order_relaxed), round = round_of(cache, line);
  bool same = held >> 1 == round;
  uint8_t next = (uint8_t)(round << 1 | (write || (same && held & 1)));
  if (next != held) atomic_store_explicit(place, next, memory_order_relaxed);
  if (same || !(held & 1)) return UINT64_MAX;
  return ((uint64_t)(held >> 1) - 1) * cache->lines + line % cache->lines;
}
