// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which node of a tier memory comes to, on machines of clusters: locality_cases CASE CLUSTERS. Such
// a machine has one CPU a cluster; cluster k has DRAM node k and HBM node CLUSTERS + k. Where a
// page is, the kernel says (move_pages). Exit 0: the case holds.
#define _GNU_SOURCE
#include <ompx_memory.h>

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { k_page = 4096, k_most_clusters = 16 };
#define MIB ((size_t)1 << 20)
static int clusters;
static int checks;

__attribute__((format(printf, 2, 3))) static void check(int holds, const char* format, ...) {
  __atomic_fetch_add(&checks, 1, __ATOMIC_RELAXED);
  if (holds) return;
  va_list arguments;
  va_start(arguments, format);
  fputs("does not hold: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  _exit(1);
}

// Node of a page, or a negative number.
static int node_at(const void* address) {
  void* page = (void*)((uintptr_t)address / k_page * k_page);
  int status = -1;
  return syscall(SYS_move_pages, 0, 1ul, &page, NULL, &status, 0) == 0 ? status : -1;
}

// Pages of a range by node; those not present are counted nowhere.
static size_t count_pages(const char* begin, size_t bytes, size_t pages_on[64]) {
  memset(pages_on, 0, 64 * sizeof *pages_on);
  size_t count = 0;
  const uintptr_t end = (uintptr_t)begin + bytes;
  void* pages[512];
  int status[512];
  for (uintptr_t at = (uintptr_t)begin / k_page * k_page; at < end;) {
    unsigned long n = 0;
    for (; n < 512 && at < end; ++n, at += k_page)
      pages[n] = (void*)at;
    check(syscall(SYS_move_pages, 0, n, pages, NULL, status, 0) == 0, "move_pages");
    for (unsigned long i = 0; i < n; ++i)
      if (status[i] >= 0 && status[i] < 64) ++pages_on[status[i]];
    count += n;
  }
  return count;
}

static void all_on(const void* begin, size_t bytes, int node, const char* what) {
  size_t on[64];
  const size_t pages = count_pages(begin, bytes, on);
  if (on[node] == pages) return check(1, " ");
  for (int i = 0; i < 64; ++i)
    if (on[i] != 0) fprintf(stderr, "%s: node %d has %zu of %zu pages\n", what, i, on[i], pages);
  check(0, "%s: not all on node %d", what, node);
}

static void run_on(int cluster) {
  cpu_set_t cpu;
  CPU_ZERO(&cpu);
  CPU_SET((size_t)cluster, &cpu);
  check(sched_setaffinity(0, sizeof cpu, &cpu) == 0, "no CPU %d", cluster);
}

static omp_allocator_handle_t allocator(omp_memspace_handle_t space, omp_uintptr_t placement,
                                        omp_uintptr_t partition) {
  omp_alloctrait_t traits[] = {{ompx_atk_placement, placement},
                               {omp_atk_partition, partition},
                               {omp_atk_fallback, omp_atv_null_fb}};
  omp_allocator_handle_t made = omp_init_allocator(space, 3, traits);
  check(made != omp_null_allocator, "no allocator");
  return made;
}

static const char* reason_of(const void* block) {
  static ompx_placement_t placement;
  placement.struct_size = sizeof placement;
  check(ompx_get_placement(block, 0, &placement) == 0, "no placement");
  return placement.reason;
}

// Small and large blocks of every thread, at once and again after they were freed.
static void case_next_to_thread(void) {
  const omp_allocator_handle_t handles[] = {ompx_hbm_mem_alloc, omp_high_bw_mem_alloc,
                                            ompx_dram_mem_alloc, omp_low_lat_mem_alloc};
#pragma omp parallel num_threads(clusters)
  {
    const int me = omp_get_thread_num();
    run_on(me);
#pragma omp barrier
    for (int round = 0; round < 2; ++round) {
      for (int h = 0; h < 4; ++h) {
        const int node = h < 2 ? clusters + me : me;
        char* small[40];
        for (int i = 0; i < 40; ++i) {
          small[i] = omp_alloc(64 + 100 * (size_t)i, handles[h]);
          check(small[i] != NULL, "small block");
          all_on(small[i], 64, node, "small block");
        }
        char* large = omp_alloc(3 * MIB + 5000, handles[h]);
        check(large != NULL, "large block");
        all_on(large, 3 * MIB + 5000, node, "large block");
        memset(large, me, 3 * MIB);
        for (int i = 0; i < 40; ++i)
          omp_free(small[i], handles[h]);
        omp_free(large, handles[h]);
      }
#pragma omp barrier
    }
  }
}

// Parts of a block touched by threads of all clusters, in two orders: the second block must not
// have the pages of the first.
static void case_first_touch(void) {
  const size_t part = 4 * MIB;
  omp_allocator_handle_t hbm =
      allocator(ompx_hbm_mem_space, ompx_atv_placement_preferred, omp_atv_environment);
  for (int shift = 0; shift < 2; ++shift) {
    char* array = omp_alloc(part * (size_t)clusters, hbm);
    check(array != NULL && node_at(array) < 0, "not left to first touch");
#pragma omp parallel num_threads(clusters)
    {
      const int me = omp_get_thread_num();
      run_on(me);
      memset(array + part * (size_t)((me + shift) % clusters), 1, part);
    }
    for (int i = 0; i < clusters; ++i)
      all_on(array + part * (size_t)((i + shift) % clusters), part, clusters + i, "touched part");
    omp_free(array, hbm);
  }
}

// Contiguous parts, one a node: many and few pages, present at once or later, and once more after
// the block was freed.
static void case_blocked(void) {
  run_on(1);
  const size_t sizes[] = {(size_t)clusters * 25 * k_page, 15 * MIB, (size_t)clusters * 16 * MIB};
  const omp_uintptr_t placements[] = {ompx_atv_placement_required, ompx_atv_placement_preferred};
  for (int p = 0; p < 2; ++p) {
    omp_allocator_handle_t hbm = allocator(ompx_hbm_mem_space, placements[p], omp_atv_blocked);
    for (int s = 0; s < 3; ++s) {
      char* block = omp_alloc(sizes[s], hbm);
      check(block != NULL, "no block");
      memset(block, 1, sizes[s]);
      size_t on[64];
      const size_t pages = count_pages(block, sizes[s], on);
      // In order, and in parts that differ by an eighth at most.
      int last = clusters;
      for (size_t at = 0; at < sizes[s]; at += k_page) {
        const int node = node_at(block + at);
        check(node == last || node == last + 1, "page %zu on node %d after %d", at / k_page, node,
              last);
        last = node;
      }
      check(last == 2 * clusters - 1, "parts on nodes up to %d only", last);
      for (int i = clusters; i < 2 * clusters; ++i)
        check(8 * on[i] * (size_t)clusters >= 7 * pages &&
                  8 * on[i] * (size_t)clusters <= 9 * pages,
              "%zu of %zu pages on node %d", on[i], pages, i);
      check(strstr(reason_of(block), "blocked") != NULL, "reason: %s", reason_of(block));
      omp_free(block, hbm);
    }
  }
}

// Page after page on all nodes of the tier.
static void case_interleaved(void) {
  const size_t sizes[] = {MIB, 9 * MIB, (size_t)clusters * 16 * MIB};
  const omp_uintptr_t placements[] = {ompx_atv_placement_required, ompx_atv_placement_preferred};
  for (int p = 0; p < 2; ++p) {
    omp_allocator_handle_t dram =
        allocator(ompx_dram_mem_space, placements[p], omp_atv_interleaved);
    for (int s = 0; s < 3; ++s) {
      char* block = omp_alloc(sizes[s], dram);
      check(block != NULL, "no block");
      memset(block, 1, sizes[s]);
      size_t on[64];
      const size_t pages = count_pages(block, sizes[s], on);
      for (int i = 0; i < clusters; ++i)
        check(8 * on[i] * (size_t)clusters >= 7 * pages &&
                  8 * on[i] * (size_t)clusters <= 9 * pages,
              "%zu of %zu pages on node %d", on[i], pages, i);
      if (sizes[s] < 16 * MIB)
        for (size_t at = k_page; at < sizes[s]; at += k_page)
          check(node_at(block + at) != node_at(block + at - k_page),
                "page %zu beside its neighbour", at / k_page);
      check(strstr(reason_of(block), "interleaved") != NULL, "reason: %s", reason_of(block));
      omp_free(block, dram);
    }
  }
}

// The allocating thread's node, whoever touches.
static void case_nearest(void) {
  omp_allocator_handle_t hbm =
      allocator(ompx_hbm_mem_space, ompx_atv_placement_preferred, omp_atv_nearest);
  char* blocks[k_most_clusters];
  for (int i = 0; i < clusters; ++i) {
    run_on(i);
    blocks[i] = omp_alloc(3 * MIB, hbm);
    check(blocks[i] != NULL, "no block");
  }
  for (int i = 0; i < clusters; ++i) {
    run_on((i + 1) % clusters);
    memset(blocks[i], 1, 3 * MIB);
    all_on(blocks[i], 3 * MIB, clusters + i, "block for the thread that asked");
    omp_free(blocks[i], hbm);
  }
}

// More than one cluster's HBM holds: the tier's other nodes, nearest first, and it is said. At the
// end of the tier required memory ends.
static void case_spill(void) {
  run_on(1);
  omp_allocator_handle_t hbm =
      allocator(ompx_hbm_mem_space, ompx_atv_placement_required, omp_atv_environment);
  const size_t step = 16 * MIB;
  size_t total[64] = {0};
  int said = 0;
  for (int i = 0; i < 20; ++i) { // 320 MiB of 256 a node
    char* block = omp_alloc(step, hbm);
    check(block != NULL, "block %d refused", i);
    size_t on[64];
    const size_t pages = count_pages(block, step, on);
    size_t on_tier = 0;
    for (int k = clusters; k < 2 * clusters; ++k)
      on_tier += on[k], total[k] += on[k];
    check(on_tier == pages, "block %d: %zu of %zu pages on HBM", i, on_tier, pages);
    const int whole = on[clusters + 1] == pages;
    check(whole || strstr(reason_of(block), "was full") != NULL, "reason: %s", reason_of(block));
    if (!whole && !said++) printf("block %d: %s\n", i, reason_of(block));
  }
  for (int k = 0; k < clusters; ++k)
    printf("node %d: %zu MiB\n", clusters + k, total[clusters + k] * k_page / MIB);
  check(said > 0, "nothing spilled");
  check(total[clusters + 1] * k_page >= 192 * MIB, "the nearest node was not filled first");
  for (int k = 4; k < clusters; ++k)
    check(total[clusters + k] == 0, "another socket's node %d before one's own", clusters + k);
  char* small = omp_alloc(1000, hbm);
  check(small != NULL && node_at(small) > clusters - 1, "small block not on HBM");
  int more = 0;
  while (omp_alloc(step, hbm) != NULL)
    check(++more < 256, "the tier never ends");
  printf("%d more blocks until the tier was full\n", more);
  check(more > 4, "only %d blocks on the other nodes", more);
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {{"next_to_thread", case_next_to_thread},
             {"first_touch", case_first_touch},
             {"blocked", case_blocked},
             {"interleaved", case_interleaved},
             {"nearest", case_nearest},
             {"spill", case_spill}};

int main(int argc, char** argv) {
  clusters = argc == 3 ? atoi(argv[2]) : 0;
  if (clusters < 2 || clusters > k_most_clusters)
    return fprintf(stderr, "locality_cases CASE CLUSTERS\n"), 2;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    if (strcmp(cases[i].name, argv[1]) == 0) {
      cases[i].run();
      printf("%s holds, %d checks\n", argv[1], checks);
      return 0;
    }
  fprintf(stderr, "no case %s\n", argv[1]);
  return 2;
}
