// SPDX-License-Identifier: GPL-2.0-or-later
//
// A memory-side cache: which lines of a node lie in the faster memory before it. Direct mapped and
// filled by every read and write, as HBM in cache mode and DRAM in Memory Mode are (A. Sodani et
// al., "Knights Landing", IEEE Micro 36(2), 2016). All vCPUs use it at once, without a lock: of two
// simultaneous fills of one place, one may be lost.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct memory_cache;

struct memory_cache* memory_cache_create(uint64_t bytes);
void memory_cache_clear(struct memory_cache* cache);

bool memory_cache_has(const struct memory_cache* cache, uint64_t physical_line);

// Afterwards it has the line. Returns the line that was written and left for it, else UINT64_MAX.
uint64_t memory_cache_fill(struct memory_cache* cache, uint64_t physical_line, bool write);

#ifdef __cplusplus
}
#endif
