// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/misses.h"

#include "machine/timing/clock.h"
#include "machine/timing/miss_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { k_first_room = 1 << 12 };

bool miss_table_create(struct miss_table* table) {
  table->slots = calloc(k_first_room, sizeof *table->slots);
  table->room = k_first_room;
  table->used = 0;
  table->epoch = 0;
  return table->slots && pthread_mutex_init(&table->lock, NULL) == 0;
}

static uint64_t hash_pages(uint64_t virtual_page, uint64_t physical_page) {
  uint64_t mixed =
      (virtual_page ^ physical_page << 32 ^ physical_page >> 32) * UINT64_C(0x9e3779b97f4a7c15);
  return mixed ^ mixed >> 29;
}

// The pair's slot, or the empty slot for it. One always exists.
static struct page_count* find_slot(struct page_count* slots, uint64_t room, uint64_t virtual_page,
                                    uint64_t physical_page) {
  for (uint64_t i = hash_pages(virtual_page, physical_page);; i++) {
    struct page_count* slot = &slots[i & (room - 1)];
    if (slot->virtual_page == virtual_page && slot->physical_page == physical_page) return slot;
    if (!slot->virtual_page && !slot->physical_page) return slot;
  }
}

// Adds a count to a table, which grows before it is three quarters full. If memory runs out, the
// count is lost.
static void add_count(struct miss_table* table, const struct page_count* count) {
  if (table->used + table->used / 3 >= table->room) {
    struct page_count* grown = calloc(2 * table->room, sizeof *grown);
    if (!grown && table->used + 1 >= table->room) return;
    if (grown) {
      for (uint64_t i = 0; i < table->room; i++) {
        const struct page_count* old = &table->slots[i];
        if (old->virtual_page || old->physical_page)
          *find_slot(grown, 2 * table->room, old->virtual_page, old->physical_page) = *old;
      }
      free(table->slots);
      table->slots = grown;
      table->room *= 2;
    }
  }
  struct page_count* slot =
      find_slot(table->slots, table->room, count->virtual_page, count->physical_page);
  if (!slot->virtual_page && !slot->physical_page) {
    *slot = *count;
    table->used++;
    return;
  }
  slot->reads += count->reads;
  slot->writes += count->writes;
  slot->streamed += count->streamed;
}

void miss_table_count(struct miss_table* table, unsigned epoch, uint64_t virtual_page,
                      uint64_t physical_page, uint32_t node, bool store, bool streamed) {
  struct page_count one = {virtual_page, physical_page, node, !store, store, streamed};
  pthread_mutex_lock(&table->lock);
  if (table->epoch != epoch) {
    memset(table->slots, 0, table->room * sizeof *table->slots);
    table->used = 0;
    table->epoch = epoch;
  }
  add_count(table, &one);
  pthread_mutex_unlock(&table->lock);
}

struct miss_export {
  FILE* file;
};

struct miss_export* miss_export_open(const struct configuration* configuration) {
  struct miss_export* export = calloc(1, sizeof *export);
  if (!export) return NULL;
  export->file = fopen(configuration->misses, "wbe");
  struct miss_file_header header = {
      .magic = MISS_FILE_MAGIC,
      .version = MISS_FILE_VERSION,
      .record_size = sizeof(struct miss_record),
      .vcpus = configuration->vcpus,
      .page_size = k_page_size,
      .dilation = configuration->dilation,
  };
  if (export->file && fwrite(&header, sizeof header, 1, export->file) == 1) return export;
  free(export);
  return NULL;
}

static bool write_records(FILE* file, const struct miss_table* sum) {
  for (uint64_t i = 0; i < sum->room; i++) {
    const struct page_count* count = &sum->slots[i];
    if (!count->virtual_page && !count->physical_page) continue;
    struct miss_record record = {count->virtual_page * k_page_size,
                                 count->physical_page * k_page_size,
                                 count->node,
                                 count->reads,
                                 count->writes,
                                 count->streamed};
    if (fwrite(&record, sizeof record, 1, file) != 1) return false;
  }
  return true;
}

bool miss_export_section(struct miss_export* file, uint32_t mark, struct miss_table* const* tables,
                         uint32_t table_count, unsigned epoch) {
  struct miss_table sum;
  if (!miss_table_create(&sum)) return false;
  for (uint32_t t = 0; t < table_count; t++) {
    pthread_mutex_lock(&tables[t]->lock);
    for (uint64_t i = 0; tables[t]->epoch == epoch && i < tables[t]->room; i++)
      if (tables[t]->slots[i].virtual_page || tables[t]->slots[i].physical_page)
        add_count(&sum, &tables[t]->slots[i]);
    pthread_mutex_unlock(&tables[t]->lock);
  }
  struct miss_section section = {MISS_SECTION_MAGIC, mark, 0, sum.used, clock_ticks()};
  bool good = fwrite(&section, sizeof section, 1, file->file) == 1 &&
              write_records(file->file, &sum) && fflush(file->file) == 0;
  free(sum.slots);
  pthread_mutex_destroy(&sum.lock);
  return good;
}
