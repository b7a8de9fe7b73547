// SPDX-License-Identifier: GPL-2.0-or-later
//
// Counts misses by (virtual page, physical page): one hash table per vCPU, merged when a section is
// exported. miss_file.h describes the file.
//
// A table belongs to its vCPU's thread. The exporter, on any thread, takes the table's lock, which
// is otherwise never contended. A reset empties tables lazily: each has the number of the reset
// since which it counts.
#pragma once

#include "machine/timing/config.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

struct page_count {
  uint64_t virtual_page, physical_page; // page numbers; both 0 = empty
  uint32_t node, reads, writes, streamed;
};

struct miss_table {
  pthread_mutex_t lock;
  struct page_count* slots; // a power of two of them
  uint64_t room, used;
  unsigned epoch;
};

bool miss_table_create(struct miss_table* table);

// Counts one miss. epoch: number of the last reset.
void miss_table_count(struct miss_table* table, unsigned epoch, uint64_t virtual_page,
                      uint64_t physical_page, uint32_t node, bool store, bool streamed);

struct miss_export;

// Creates the file. Returns null and sets errno on failure.
struct miss_export* miss_export_open(const struct configuration* configuration);

// Appends one section: the sum of the tables that count since reset `epoch`. Any thread, one call
// at a time.
bool miss_export_section(struct miss_export* file, uint32_t mark, struct miss_table* const* tables,
                         uint32_t table_count, unsigned epoch);

#ifdef __cplusplus
}
#endif
