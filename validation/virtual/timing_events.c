// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inside the timed machine: do the records of the memory-event unit say what this program really
// did?
//
// One thread per processor, pinned, loads at random from a large array, three times as often as
// from a second one of the same size, both far larger than the caches. While they run, the main
// thread drains the rings, as a profiler would. Checked: the header; that no record is lost or out
// of order; that addresses, kinds and nodes are possible; that physical addresses are those the
// kernel tells; that times, put on the guest's clock, lie within the run; and that the share of the
// first array is 3/4 within four standard deviations. Prints both address ranges, so that the
// exported misses can be compared (timing_misses).
#include "borders/event_unit.h"
#include "borders/model_marks.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { k_array_bytes = 8 << 20, k_loads = 24000, k_most_records = 1 << 16 };

static void fail(const char* what, double seen) {
  fprintf(stderr, "timing_events: %s (%.17g)\n", what, seen);
  exit(1);
}

// The event unit's memory: resource2 of the PCI device.
static struct event_unit* map_unit(void) {
  glob_t devices;
  if (glob("/sys/bus/pci/devices/*", 0, NULL, &devices)) fail("no PCI devices", errno);
  for (size_t i = 0; i < devices.gl_pathc; i++) {
    char path[512];
    unsigned vendor = 0, device = 0;
    snprintf(path, sizeof path, "%s/vendor", devices.gl_pathv[i]);
    FILE* file = fopen(path, "r");
    if (!file || fscanf(file, "%x", &vendor) != 1) vendor = 0;
    if (file) fclose(file);
    snprintf(path, sizeof path, "%s/device", devices.gl_pathv[i]);
    file = fopen(path, "r");
    if (!file || fscanf(file, "%x", &device) != 1) device = 0;
    if (file) fclose(file);
    if (vendor != EVENT_UNIT_PCI_VENDOR || device != EVENT_UNIT_PCI_DEVICE) continue;
    snprintf(path, sizeof path, "%s/resource2", devices.gl_pathv[i]);
    int resource = open(path, O_RDWR);
    struct stat status;
    if (resource < 0 || fstat(resource, &status)) fail("resource2 cannot be opened", errno);
    void* region =
        mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, resource, 0);
    if (region == MAP_FAILED) fail("resource2 cannot be mapped", errno);
    const char* problem = event_unit_problem(region, (uint64_t)status.st_size);
    if (problem) fail(problem, 0);
    globfree(&devices);
    return region;
  }
  fail("no event unit among the PCI devices", (double)devices.gl_pathc);
  return NULL;
}

static uint64_t* make_array(void) {
  uint64_t* array =
      mmap(NULL, k_array_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (array == MAP_FAILED) fail("mmap", errno);
  madvise(array, k_array_bytes, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < k_array_bytes / sizeof *array; i++)
    array[i] = i;
  return array;
}

static uint64_t load_at_random(const uint64_t* often, const uint64_t* seldom, uint64_t seed) {
  uint64_t state = seed * 7919 + 1, sum = 0;
  for (int i = 0; i < k_loads; i++) {
    const uint64_t* array = i % 4 == 3 ? seldom : often;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    sum += array[(state >> 33) % (k_array_bytes / sizeof *array)];
  }
  return sum;
}

static bool within(uint64_t address, const uint64_t* array) {
  return address - (uint64_t)(uintptr_t)array < k_array_bytes;
}

static uint64_t physical_address(int pagemap, uint64_t address) {
  uint64_t entry;
  if (pread(pagemap, &entry, sizeof entry, (off_t)(address / 4096 * sizeof entry)) != sizeof entry)
    fail("pagemap", errno);
  return (entry & ((UINT64_C(1) << 55) - 1)) * 4096 + address % 4096;
}

static struct event_record g_records[k_most_records];
static uint64_t g_count;

static void drain(struct event_unit* unit) {
  for (uint32_t v = 0; v < unit->vcpus; v++)
    g_count += event_unit_read(unit, v, g_records + g_count, k_most_records - g_count);
}

struct tally {
  uint64_t often, seldom;
};

static struct tally check_records(const uint64_t* often, const uint64_t* seldom,
                                  int64_t clock_offset, uint64_t begin, uint64_t end,
                                  uint32_t vcpus) {
  int pagemap = open("/proc/self/pagemap", O_RDONLY);
  struct tally tally = {0, 0};
  uint64_t last_sequence[EVENT_UNIT_MAX_VCPUS];
  memset(last_sequence, 0xff, sizeof last_sequence);
  for (uint64_t i = 0; i < g_count; i++) {
    const struct event_record* r = &g_records[i];
    if (r->vcpu >= vcpus) fail("a vCPU that does not exist", r->vcpu);
    uint64_t* last = &last_sequence[r->vcpu];
    if (*last != UINT64_MAX && r->sequence != *last + 1)
      fail("a gap in a ring", (double)r->sequence);
    *last = r->sequence;
    uint64_t time = r->tsc + (uint64_t)clock_offset;
    if (time < begin || time > end) continue; // before or after the measured part
    bool in_often = within(r->virtual_address, often),
         in_seldom = within(r->virtual_address, seldom);
    if (!in_often && !in_seldom) continue;
    if (r->flags & EVENT_KERNEL) fail("a page made while the model is on", (double)i);
    if (r->flags & EVENT_STORE) fail("a store, where there are only loads", (double)i);
    if (r->level != EVENT_LEVEL_MEMORY || r->latency <= 0) fail("no latency", r->latency);
    if (physical_address(pagemap, r->virtual_address) != r->physical_address)
      fail("not the physical address that the kernel tells", (double)r->physical_address);
    *(in_often ? &tally.often : &tally.seldom) += 1;
  }
  close(pagemap);
  return tally;
}

int main(void) {
  struct event_unit* unit = map_unit();
  omptier_model_off();
  uint64_t *often = make_array(), *seldom = make_array();
  uint64_t window;
  int64_t offset = event_unit_clock_offset(unit, &window);
  if (window == ~UINT64_C(0)) fail("the plugin does not answer synchronise marks", 0);
  drain(unit);
  g_count = 0;
  static atomic_int running;
  uint64_t sum = 0;
  int threads = omp_get_max_threads();
  atomic_store(&running, threads);
  uint64_t begin = __builtin_ia32_rdtsc();
  omptier_model_reset();
  omptier_model_on();
#pragma omp parallel num_threads(threads + 1) reduction(+ : sum)
  {
    if (omp_get_thread_num() == threads) {
      while (atomic_load(&running) > 0) {
        drain(unit);
        usleep(10000);
      }
    } else {
      sum += load_at_random(often, seldom, (uint64_t)omp_get_thread_num());
      atomic_fetch_sub(&running, 1);
    }
  }
  omptier_model_off();
  uint64_t end = __builtin_ia32_rdtsc();
  drain(unit);
  uint64_t lost = 0;
  for (uint32_t v = 0; v < unit->vcpus; v++)
    lost += unit->rings[v].lost;
  struct tally tally = check_records(often, seldom, offset, begin, end, unit->vcpus);
  double all = (double)(tally.often + tally.seldom), share = (double)tally.often / all;
  printf("range %llx-%llx share %.5f\n", (unsigned long long)(uintptr_t)often,
         (unsigned long long)(uintptr_t)often + k_array_bytes, share);
  printf("range %llx-%llx share %.5f\n", (unsigned long long)(uintptr_t)seldom,
         (unsigned long long)(uintptr_t)seldom + k_array_bytes, 1 - share);
  printf("records %.0f of %llu, lost %llu, period %llu, clock window %llu ticks\n", all,
         (unsigned long long)g_count, (unsigned long long)lost, (unsigned long long)unit->period,
         (unsigned long long)window);
  double expected = (double)threads * k_loads / (double)unit->period; // nearly every load misses
  if (lost) fail("records were lost", (double)lost);
  if (all < 0.75 * expected || all > 1.1 * expected)
    fail("not the number of records expected", all);
  if (fabs(share - 0.75) > 4 * sqrt(0.75 * 0.25 / all))
    fail("share of the first array is not 3/4", share);
  return sum == 1;
}
