// SPDX-License-Identifier: GPL-2.0-or-later
//
// The modelled caches: per vCPU a first level (virtually indexed, direct mapped: its hit test is on
// the path of every access), a second level and a stream detector; one shared last level.
//
// Lines of the last level carry a dirty bit, so that what it evicts can be charged as a write-back.
// Inner levels write through to that bit. Replacement is round robin within a set. There is no
// coherence: false sharing costs nothing. Sizes come from the configuration.
#pragma once

#include "machine/timing/config.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { k_streams = 16 };

// A page with a stream in it, for the detector.
struct stream {
  uint64_t page; // physical
  int line;      // of the page, last accessed
  int stride;    // lines, last seen
  int run;       // how often in a row the stride was the same
  uint64_t used; // for replacement
};

// What belongs to one vCPU. Only its own thread touches it.
struct core_caches {
  uint64_t* l1; // virtual line << 1 | may be written
  uint64_t l1_mask;
  uint64_t* l2; // physical line + 1; 0 = empty
  uint8_t* l2_next;
  uint64_t l2_mask;
  uint32_t l2_ways;
  struct stream streams[k_streams];
  uint64_t uses;
};

struct shared_cache;

bool core_caches_create(struct core_caches* caches, const struct configuration* configuration);
void core_caches_clear(struct core_caches* caches);

struct shared_cache* shared_cache_create(const struct cache_shape* shape);
void shared_cache_clear(struct shared_cache* cache);

// First level. Higher bits are mixed into the set, because arrays often lie at the same offset of
// aligned blocks and a direct-mapped cache would lose each to the other, which real ones with ways
// do not. A line that was only read must pass once more on its first store, to become dirty.
static inline bool core_l1_hit(struct core_caches* caches, uint64_t virtual_line, bool store) {
  uint64_t mixed = virtual_line ^ virtual_line >> 8 ^ virtual_line >> 16;
  uint64_t* slot = &caches->l1[mixed & caches->l1_mask];
  bool same = *slot >> 1 == virtual_line;
  if (same && (*slot & 1) >= (uint64_t)store) return true;
  *slot = virtual_line << 1 | (store || (same && (*slot & 1)));
  return false;
}

// Second level: hit, or the line is put in.
bool core_l2_access(struct core_caches* caches, uint64_t physical_line);

// To be told every miss of the second level: is it part of a stream that a prefetcher would follow?
bool core_stream_access(struct core_caches* caches, uint64_t physical_line);

// Last level, any thread: hit, or the line is put in; *evicted gets a dirty line that had to go
// (else UINT64_MAX). A store makes the line dirty.
bool shared_cache_access(struct shared_cache* cache, uint64_t physical_line, bool store,
                         uint64_t* evicted);

#ifdef __cplusplus
}
#endif
