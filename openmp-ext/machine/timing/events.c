// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/events.h"

#include "machine/timing/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// The producer's own state of one ring. Of the region's copy it only reads `tail`.
struct producer {
  uint64_t random;
  uint64_t until_next; // misses
  uint64_t sequence, written, lost, misses;
  char apart[16]; // keeps rings in separate cache lines
};

struct events {
  struct event_unit* unit;
  struct event_unit header; // initial header
  uint64_t sync_count;
  struct producer producers[EVENT_UNIT_MAX_VCPUS];
};

static uint64_t next_gap(struct events* events, struct producer* p) {
  p->random = p->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  uint64_t period = events->header.period;
  return period > 1 ? period - period / 2 + (p->random >> 33) % (period / 2 * 2 + 1) : 1;
}

static void fill_header(struct event_unit* header, const struct configuration* configuration) {
  *header = (struct event_unit){
      .magic = EVENT_UNIT_MAGIC,
      .version = EVENT_UNIT_VERSION,
      .header_size = sizeof *header,
      .record_size = sizeof(struct event_record),
      .vcpus = configuration->vcpus,
      .region_size = EVENT_UNIT_SIZE,
      .period = configuration->event_period,
      .dilation = configuration->dilation,
      .tsc_frequency = 1e9 / clock_scale.ns_per_tick,
  };
  header->capacity =
      (EVENT_UNIT_SIZE - EVENT_UNIT_RECORDS) / sizeof(struct event_record) / header->vcpus;
}

static struct event_unit* map_region(const char* path, char* error, size_t error_size) {
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct stat status;
  bool good = file >= 0 && fstat(file, &status) == 0 &&
              (status.st_size >= EVENT_UNIT_SIZE || ftruncate(file, EVENT_UNIT_SIZE) == 0);
  void* region =
      good ? mmap(NULL, EVENT_UNIT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  if (region == MAP_FAILED)
    snprintf(error, error_size, "event region %s: %s", path, strerror(errno));
  if (file >= 0) close(file);
  return region == MAP_FAILED ? NULL : region;
}

struct events* events_open(const struct configuration* configuration, char* error,
                           size_t error_size) {
  struct events* events = calloc(1, sizeof *events);
  if (!events) {
    snprintf(error, error_size, "out of memory");
    return NULL;
  }
  events->unit = map_region(configuration->events, error, error_size);
  if (!events->unit) {
    free(events);
    return NULL;
  }
  fill_header(&events->header, configuration);
  for (uint32_t v = 0; v < configuration->vcpus; v++) {
    events->producers[v].random = (v + 1) * UINT64_C(0x9e3779b97f4a7c15);
    events->producers[v].until_next = next_gap(events, &events->producers[v]);
  }
  events_publish(events);
  return events;
}

void events_publish(struct events* events) {
  struct event_unit* unit = events->unit;
  if (unit->magic == EVENT_UNIT_MAGIC && unit->sync_count == events->sync_count &&
      unit->rings[0].head == events->producers[0].written && unit->region_size == EVENT_UNIT_SIZE &&
      unit->period == events->header.period && unit->capacity == events->header.capacity)
    return; // intact: do not disturb a reader's tails
  events->header.sync_count = events->sync_count;
  for (uint32_t v = 0; v < events->header.vcpus; v++) {
    const struct producer* p = &events->producers[v];
    events->header.rings[v] = (struct event_ring){
        .head = p->written, .lost = p->lost, .misses = p->misses, .tail = p->written};
  }
  memcpy(unit, &events->header, sizeof *unit);
}

void events_synchronise(struct events* events) {
  events->unit->sync_tsc = clock_ticks();
  __atomic_store_n(&events->unit->sync_count, ++events->sync_count, __ATOMIC_RELEASE);
}

void events_miss(struct events* events, uint32_t vcpu, const struct event_record* record) {
  struct producer* p = &events->producers[vcpu];
  struct event_ring* ring = &events->unit->rings[vcpu];
  ring->misses = ++p->misses;
  if (--p->until_next) return;
  p->until_next = next_gap(events, p);
  uint64_t sequence = p->sequence++;
  uint64_t capacity = events->header.capacity;
  if (p->written - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) >= capacity) {
    ring->lost = ++p->lost;
    return;
  }
  struct event_record* records = (struct event_record*)((char*)events->unit + EVENT_UNIT_RECORDS);
  struct event_record* slot = &records[vcpu * capacity + p->written % capacity];
  *slot = *record;
  slot->tsc = clock_ticks();
  slot->sequence = sequence;
  slot->misses = p->misses;
  __atomic_store_n(&ring->head, ++p->written, __ATOMIC_RELEASE);
}

void events_totals(const struct events* events, uint64_t* misses, uint64_t* recorded,
                   uint64_t* lost) {
  *misses = *recorded = *lost = 0;
  for (uint32_t v = 0; v < events->header.vcpus; v++) {
    *misses += events->producers[v].misses;
    *recorded += events->producers[v].written;
    *lost += events->producers[v].lost;
  }
}
