// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The virtual machine's memory-event unit: what PEBS or IBS would deliver on a real machine.
//
// The timing plugin writes every N-th miss of the modelled last-level cache by user code, or by the
// kernel on a page that it clears or copies for user code, into a ring per vCPU; the rings lie in a
// file that the guest sees as the memory of a PCI device (ivshmem-plain, 1af4:1110, resource2).
// Reading takes no system call. This header, shared by the plugin (producer) and the guest's reader
// (consumer), is the whole contract. One producer a ring (its vCPU), one consumer for the region.
// All fields little-endian, naturally aligned.
//
// Layout: struct event_unit (one page of 4096 bytes, at offset 0), then at offset
// EVENT_UNIT_RECORDS the records, `capacity` of them for each vCPU 0 … vcpus−1, one vCPU after the
// other.
#pragma once

#include "borders/model_marks.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EVENT_UNIT_MAGIC UINT64_C(0x31554d4554504d4f) // the bytes "OMPTEMU1"
#define EVENT_UNIT_VERSION 2
#define EVENT_UNIT_SIZE (16u << 20) // bytes of the file, and of resource2
#define EVENT_UNIT_RECORDS 4096     // offset of the first record
#define EVENT_UNIT_MAX_VCPUS 16
#define EVENT_UNIT_PCI_VENDOR 0x1af4
#define EVENT_UNIT_PCI_DEVICE 0x1110

#define EVENT_STORE 1    // flags: a store; otherwise a load
#define EVENT_STREAMED 2 // flags: part of a sequential or strided stream that a prefetcher follows
// flags: by the kernel, which cleared or copied the page. Recorded when user code touches the page
// first: pc and tsc are of that touch. (Version 1 had no such records.)
#define EVENT_KERNEL 4

// Where the access was served. Only misses of the last level are recorded: always memory.
#define EVENT_LEVEL_MEMORY 4

struct event_record {
  uint64_t tsc;              // time-stamp counter of the host, when the miss was modelled
  uint64_t pc;               // the instruction, guest virtual address
  uint64_t virtual_address;  // what it accessed
  uint64_t physical_address; // guest physical, as in /proc/PID/pagemap
  uint64_t sequence;         // 0, 1, 2, … in this ring, lost records included
  uint64_t misses;           // such misses on this vCPU up to and including this one
  float latency;             // modelled nanoseconds, undilated, waiting for bandwidth included
  uint16_t vcpu;
  uint8_t node; // NUMA node of the guest
  uint8_t flags;
  uint8_t level;
  uint8_t reserved[7]; // zero
};

// Producer's and consumer's halves in cache lines of their own.
struct event_ring {
  uint64_t head;   // records written so far; record i lies at i % capacity. Producer, release
  uint64_t lost;   // records dropped because the ring was full
  uint64_t misses; // all such misses on this vCPU, recorded or not
  uint64_t reserved0[5];
  uint64_t tail; // records read so far. Consumer, release
  uint64_t reserved1[7];
};

struct event_unit {
  uint64_t magic;
  uint32_t version;
  uint32_t header_size; // sizeof(struct event_unit)
  uint32_t record_size; // sizeof(struct event_record)
  uint32_t vcpus;
  uint64_t capacity;    // records in one ring
  uint64_t region_size; // EVENT_UNIT_SIZE
  uint64_t period;      // mean number of misses from one record to the next, varied by ± half
  double dilation;      // real nanoseconds per modelled one
  double tsc_frequency; // ticks of the host's (and guest's) counter per second
  uint64_t sync_tsc;    // host's counter at the last synchronise mark
  uint64_t sync_count;  // number of synchronise marks so far. Producer, release
  uint64_t reserved[22];
  struct event_ring rings[EVENT_UNIT_MAX_VCPUS];
};

#if defined(__cplusplus)
static_assert(sizeof(struct event_record) == 64, "layout of versions 1 and 2");
static_assert(sizeof(struct event_ring) == 128, "layout of versions 1 and 2");
static_assert(sizeof(struct event_unit) <= EVENT_UNIT_RECORDS, "header fits its page");
#else
_Static_assert(sizeof(struct event_record) == 64, "layout of versions 1 and 2");
_Static_assert(sizeof(struct event_ring) == 128, "layout of versions 1 and 2");
_Static_assert(sizeof(struct event_unit) <= EVENT_UNIT_RECORDS, "header fits its page");
#endif

// Null if a region of `size` bytes holds an event unit of this layout; else what is wrong.
static inline const char* event_unit_problem(const struct event_unit* unit, uint64_t size) {
  if (size < sizeof *unit) return "region too small for a header";
  if (unit->magic != EVENT_UNIT_MAGIC) return "no event unit here (the time model is not running)";
  if (unit->version != EVENT_UNIT_VERSION) return "event unit of another version";
  if (unit->header_size != sizeof *unit || unit->record_size != sizeof(struct event_record))
    return "event unit with other structure sizes";
  if (unit->vcpus == 0 || unit->vcpus > EVENT_UNIT_MAX_VCPUS) return "impossible number of vCPUs";
  if (unit->capacity == 0 || unit->region_size > size || unit->region_size < EVENT_UNIT_RECORDS ||
      unit->capacity >
          (unit->region_size - EVENT_UNIT_RECORDS) / sizeof(struct event_record) / unit->vcpus)
    return "rings do not fit the region";
  return 0;
}

static inline struct event_record* event_unit_records(struct event_unit* unit, uint32_t vcpu) {
  return (struct event_record*)((char*)unit + EVENT_UNIT_RECORDS) + vcpu * unit->capacity;
}

// Frees the places of the records that it copies. Returns how many.
static inline uint64_t event_unit_read(struct event_unit* unit, uint32_t vcpu,
                                       struct event_record* out, uint64_t most) {
  struct event_ring* ring = &unit->rings[vcpu];
  const struct event_record* records = event_unit_records(unit, vcpu);
  uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
  uint64_t ready = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) - tail;
  if (ready > unit->capacity) ready = unit->capacity; // only a damaged header gets here
  if (ready > most) ready = most;
  for (uint64_t i = 0; i < ready; i++)
    out[i] = records[(tail + i) % unit->capacity];
  __atomic_store_n(&ring->tail, tail + ready, __ATOMIC_RELEASE);
  return ready;
}

#if defined(__x86_64__)
// Guest's counter minus the host's: add it to a record's tsc to get the guest's rdtsc. Takes the
// tightest of 32 tries and stores its width in *window, in ticks (the error is at most half of it).
// Returns 0 and a window of ~0 where no plugin answers.
static inline int64_t event_unit_clock_offset(struct event_unit* unit, uint64_t* window) {
  int64_t offset = 0;
  *window = ~UINT64_C(0);
  for (int i = 0; i < 32; i++) {
    uint64_t count = __atomic_load_n(&unit->sync_count, __ATOMIC_ACQUIRE);
    uint64_t before = __builtin_ia32_rdtsc();
    omptier_model_synchronise();
    uint64_t after = __builtin_ia32_rdtsc();
    if (__atomic_load_n(&unit->sync_count, __ATOMIC_ACQUIRE) != count + 1) continue;
    if (after - before >= *window) continue;
    *window = after - before;
    offset = (int64_t)(before + (after - before) / 2 - unit->sync_tsc);
  }
  return offset;
}
#endif

#ifdef __cplusplus
}
#endif
