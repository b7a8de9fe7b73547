// SPDX-License-Identifier: GPL-2.0-or-later
//
// The modelled caches. Each vCPU has a first level (virtually indexed and direct mapped, since its
// hit test runs at every access), a second level and a stream detector. All share one last level.
//
// Lines of the last level have a dirty bit, so that an eviction can be charged as a write-back;
// inner levels write through to it. Replacement is round robin within a set. Coherence is not
// modelled: false sharing costs nothing. The configuration gives the sizes.
#pragma once

#include "machine/timing/config.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { k_streams = 32 };

// Stream detector: a page that a stream goes through.
struct stream {
  uint64_t page; // physical
  int line;      // of the page, last accessed
  int stride;    // lines, last seen
  int run;       // consecutive accesses with this stride
  uint64_t used; // for replacement
  double began;  // when its first address was known, in the core's time
};

// The caches of one vCPU. Only its own thread uses them.
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

// First level. Higher bits are mixed into the set: arrays often lie at the same offset of aligned
// blocks, and in a direct-mapped cache they would evict each other, unlike in a real one with ways.
// The first store to a line that was only read misses, so that the line becomes dirty.
static inline bool core_l1_hit(struct core_caches* caches, uint64_t virtual_line, bool store) {
  uint64_t mixed = virtual_line ^ virtual_line >> 8 ^ virtual_line >> 16;
  uint64_t* slot = &caches->l1[mixed & caches->l1_mask];
  bool same = *slot >> 1 == virtual_line;
  if (same && (*slot & 1) >= (uint64_t)store) return true;
  *slot = virtual_line << 1 | (store || (same && (*slot & 1)));
  return false;
}

// Second level. Returns whether it hit; a missing line is inserted.
bool core_l2_access(struct core_caches* caches, uint64_t physical_line);

// The core's time begins anew: all streams that there are began before.
void core_streams_restart(struct core_caches* caches);

// Records a miss of the second level, whose address is known at `now`. Returns whether it belongs
// to a stream that a prefetcher would follow, and since when there is the stream.
bool core_stream_access(struct core_caches* caches, uint64_t physical_line, double now,
                        double* began);

// Last level, any thread. Returns whether it hit; a missing line is inserted, and *evicted is the
// dirty line that it replaced (else UINT64_MAX). A store makes the line dirty.
bool shared_cache_access(struct shared_cache* cache, uint64_t physical_line, bool store,
                         uint64_t* evicted);

#ifdef __cplusplus
}
#endif
