// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What shows in the pages: pinned memory and the limit of it, the partition trait, kinds that a
// machine has and lacks, with every fallback. The kernel is asked: where pages are by move_pages,
// what is locked by /proc/self/status.
#include "semantics.h"

#include <linux/capability.h>
#include <sched.h>

static const omp_memspace_handle_t kind_spaces[] = {ompx_dram_mem_space, ompx_hbm_mem_space,
                                                    ompx_nvm_mem_space, ompx_cxl_mem_space};

static omp_allocator_handle_t pinned(omp_memspace_handle_t space, omp_uintptr_t fallback,
                                     omp_allocator_handle_t data) {
  const omp_alloctrait_t traits[] = {{omp_atk_pinned, omp_atv_true},
                                     {omp_atk_fallback, fallback},
                                     {omp_atk_fb_data, (omp_uintptr_t)data}};
  const omp_allocator_handle_t a = make(space, data != omp_null_allocator ? 3 : 2, traits);
  check(a != omp_null_allocator, "allocator");
  return a;
}
static size_t locked(void) {
  return status_bytes("VmLck:");
}

// Locked from the start, all pages there before they are touched, unlocked when freed.
static void pinned_locked(void) {
  for (int kind = -1; kind < 4; ++kind) {
    if (kind >= 0 && node_of[kind] < 0) continue;
    // The default space has its pinned memory in DRAM.
    const int where = kind < 0 ? ompx_kind_dram : kind;
    const omp_allocator_handle_t a = pinned(kind < 0 ? omp_default_mem_space : kind_spaces[kind],
                                            omp_atv_null_fb, omp_null_allocator);
    static const size_t sizes[] = {1, 5000, 200000, 1 << 20, (3 << 20) + 7};
    for (size_t i = 0; i < LENGTH(sizes); ++i) {
      const size_t before = locked();
      char* block = (char*)omp_alloc(sizes[i], a);
      check(block != NULL, "kind %d: %zu bytes", kind, sizes[i]);
      check(bytes_on_kind(block, sizes[i], where) == sizes[i], "kind %d: pages before touch", kind);
      check(locked() >= before + sizes[i], "kind %d: %zu of %zu bytes locked", kind,
            locked() - before, sizes[i]);
      fill(block, sizes[i], 1);
      check(holds(block, sizes[i], 1), "contents");
      omp_free(block, a);
      check(locked() == before, "kind %d: %zu bytes stay locked", kind, locked() - before);
      unsigned char* zeroed = (unsigned char*)omp_calloc(sizes[i], 1, a);
      check(zeroed != NULL && all_zero(zeroed, sizes[i]) && locked() >= before + sizes[i],
            "calloc");
      omp_free(zeroed, a);
    }
    omp_destroy_allocator(a);
  }
}

// The same memory again: locked for who asks for it, and for nobody else.
static void pinned_reused(void) {
  const omp_allocator_handle_t a = pinned(ompx_dram_mem_space, omp_atv_null_fb, omp_null_allocator);
  int again = 0;
  char* last = NULL;
  for (int round = 0; round < 40; ++round) {
    const int lock = round % 3 != 1;
    char* block = (char*)omp_alloc(2 * MIB, lock ? a : ompx_dram_mem_alloc);
    check(block != NULL, "round %d", round);
    again += block == last;
    last = block;
    check((locked() >= 2 * MIB) == lock, "round %d: %zu bytes locked", round, locked());
    if (lock)
      check(bytes_on_kind(block, 2 * MIB, ompx_kind_dram) == 2 * MIB, "round %d: pages", round);
    fill(block, 2 * MIB, (unsigned)round);
    check(holds(block, 2 * MIB, (unsigned)round), "contents");
    omp_free(block, omp_null_allocator);
    check(locked() == 0, "round %d: %zu bytes stay locked", round, locked());
  }
  check(again > 20, "used again %d times only: nothing was tested", again);
}

static void pinned_realloc(void) {
  const omp_allocator_handle_t a = pinned(ompx_dram_mem_space, omp_atv_null_fb, omp_null_allocator);
  char* block = (char*)omp_alloc(100000, a);
  fill(block, 100000, 1);
  for (size_t bytes = 150000; bytes < 6 * MIB; bytes *= 2) {
    block = (char*)omp_realloc(block, bytes, a, a);
    check(block != NULL && holds(block, 100000, 1), "%zu", bytes);
    check(locked() >= bytes && locked() < 2 * bytes + 4 * MIB, "%zu locked of %zu", locked(),
          bytes);
  }
  block = (char*)omp_realloc(block, 5000, ompx_dram_mem_alloc, a);
  check(block != NULL && holds(block, 5000, 1) && locked() == 0, "to one that is not pinned");
  omp_free(block, omp_null_allocator);
}

static void pinned_threads(void) {
  const omp_allocator_handle_t a = pinned(ompx_dram_mem_space, omp_atv_null_fb, omp_null_allocator);
  int wrong = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong)
  for (int i = 0; i < 30; ++i) {
    const size_t bytes = (size_t)(1 + omp_get_thread_num()) * 20000 + (size_t)i;
    char* block = (char*)omp_alloc(bytes, a);
    wrong += block == NULL || locked() < bytes;
    if (block != NULL) fill(block, bytes, 1), wrong += !holds(block, bytes, 1);
    omp_free(block, a);
  }
  check(wrong == 0 && locked() == 0, "%d wrong, %zu bytes stay locked", wrong, locked());
}

// From here on the process may lock so much only, also where it runs as root.
static void limit_locked(size_t bytes) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  check(syscall(SYS_capget, &header, data) == 0, "capget");
  for (int i = 0; i < 2; ++i) {
    data[i].effective &= i == 0 ? ~(1u << CAP_IPC_LOCK) : ~0u;
    data[i].permitted &= i == 0 ? ~(1u << CAP_IPC_LOCK) : ~0u;
  }
  check(syscall(SYS_capset, &header, data) == 0, "capset");
  const struct rlimit limit = {bytes, bytes};
  check(setrlimit(RLIMIT_MEMLOCK, &limit) == 0, "setrlimit");
}

static omp_memspace_handle_t abort_space;
static int pinned_aborts(void) {
  return omp_alloc(4 * MIB, pinned(abort_space, omp_atv_abort_fb, omp_null_allocator)) == NULL;
}

static void pinned_limit(void) {
  limit_locked(2 * MIB);
  static const omp_memspace_handle_t spaces[] = {ompx_dram_mem_space, omp_default_mem_space};
  for (size_t s = 0; s < 2; ++s) {
    const omp_allocator_handle_t null_fb = pinned(spaces[s], omp_atv_null_fb, omp_null_allocator);
    char* block = (char*)omp_alloc(MIB, null_fb);
    check(block != NULL && locked() >= MIB, "within the limit");
    check(omp_alloc(4 * MIB, null_fb) == NULL, "null_fb beyond the limit");
    check(locked() <= 2 * MIB, "%zu bytes locked", locked());
    char* other =
        (char*)omp_alloc(4 * MIB, pinned(spaces[s], omp_atv_default_mem_fb, omp_null_allocator));
    check(other != NULL && !is_placed(other) && locked() <= 2 * MIB, "default_mem_fb");
    omp_free(other, omp_null_allocator);
    other = (char*)omp_alloc(4 * MIB, pinned(spaces[s], omp_atv_allocator_fb, ompx_dram_mem_alloc));
    check(is_placed(other) && locked() <= 2 * MIB, "allocator_fb");
    fill(other, 4 * MIB, 1), fill(block, MIB, 2);
    check(holds(other, 4 * MIB, 1) && holds(block, MIB, 2), "contents");
    omp_free(other, omp_null_allocator);
    omp_free(block, null_fb);
    check(locked() == 0, "%zu bytes stay locked", locked());
    check((block = (char*)omp_alloc(MIB, null_fb)) != NULL, "there is room again");
    omp_free(block, null_fb);
    abort_space = spaces[s];
    catch_stderr();
    const int status = status_of_child(pinned_aborts);
    const char* said = caught_stderr();
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(said, "lock") != NULL,
          "abort_fb: %x, said: %s", status, said);
  }
}

static void pinned_not(void) {
  const omp_alloctrait_t traits[] = {{omp_atk_pinned, omp_atv_false}};
  for (int space = 0; space < 2; ++space) {
    char* block = (char*)omp_alloc(
        MIB, make(space == 0 ? ompx_dram_mem_space : omp_default_mem_space, 1, traits));
    fill(block, MIB, 1);
    check(locked() == 0, "%zu bytes locked", locked());
    omp_free(block, omp_null_allocator);
  }
}

// ---- partition

static const omp_uintptr_t partitions[] = {omp_atv_environment, omp_atv_nearest, omp_atv_blocked,
                                           omp_atv_interleaved};

// Whatever the partition: on the kind asked for, also when the block comes again.
static void partition_values(void) {
  for (int kind = 0; kind < 4; ++kind) {
    if (node_of[kind] < 0) continue;
    for (size_t p = 0; p < LENGTH(partitions); ++p) {
      const omp_alloctrait_t traits[] = {{omp_atk_partition, partitions[p]},
                                         {omp_atk_fallback, omp_atv_null_fb}};
      const omp_allocator_handle_t a = make(kind_spaces[kind], 2, traits);
      for (int round = 0; round < 2; ++round)
        for (size_t bytes = 10; bytes < 10 * MIB; bytes *= 33) {
          char* block = (char*)omp_alloc(bytes, a);
          check(block != NULL, "kind %d, partition %zu: %zu bytes", kind, p, bytes);
          fill(block, bytes, 1);
          const size_t there = bytes_on_kind(block, bytes, kind);
          check(there == bytes, "kind %d, partition %zu: %zu of %zu bytes there", kind, p, there,
                bytes);
          check(holds(block, bytes, 1), "contents");
          omp_free(block, a);
        }
      omp_destroy_allocator(a);
    }
  }
}

// Of the default space: in DRAM, where default memory is.
static void partition_default_space(void) {
  for (size_t p = 1; p < LENGTH(partitions); ++p) {
    const omp_alloctrait_t traits[] = {{omp_atk_partition, partitions[p]}};
    const omp_allocator_handle_t a = make(omp_default_mem_space, 1, traits);
    char* block = (char*)omp_alloc(5 * MIB, a);
    check(is_placed(block), "partition %zu", p);
    fill(block, 5 * MIB, 1);
    check(bytes_on_kind(block, 5 * MIB, ompx_kind_dram) == 5 * MIB, "partition %zu: elsewhere", p);
    omp_free(block, a);
  }
}

// A filled block of 16 MiB for each node of the kind; NULL where it has not several.
static char* block_over_nodes(int kind, omp_uintptr_t partition, size_t* bytes) {
  const int count = __builtin_popcountl(nodes_of[kind]);
  if (node_of[kind] < 0 || count < 2) return NULL;
  const omp_alloctrait_t traits[] = {{omp_atk_partition, partition}};
  *bytes = (size_t)count * 16 * MIB;
  char* block = (char*)omp_alloc(*bytes, make(kind_spaces[kind], 1, traits));
  check(block != NULL, "kind %d", kind);
  fill(block, *bytes, 1);
  return block;
}

// Page by page over the nodes of the tier: each has its share, everywhere in the block.
static void partition_interleaved(void) {
  int tried = 0;
  for (int kind = 0; kind < 4; ++kind) {
    size_t bytes = 0;
    char* block = block_over_nodes(kind, omp_atv_interleaved, &bytes);
    if (block == NULL) continue;
    ++tried;
    const ompx_placement_t placement = placement_of(block);
    for (int node = 0; node < OMPX_MAX_NODES; ++node)
      if (nodes_of[kind] >> node & 1)
        check(placement.node_bytes[node] > 12 * MIB && placement.node_bytes[node] < 20 * MIB,
              "kind %d: node %d has %zu of %zu bytes", kind, node, placement.node_bytes[node],
              bytes);
    check(holds(block, bytes, 1), "contents");
    omp_free(block, omp_null_allocator);
  }
  check(tried > 0, "no kind with several nodes");
}

// Contiguous parts, one a node, in the order of the addresses.
static void partition_blocked(void) {
  int tried = 0;
  for (int kind = 0; kind < 4; ++kind) {
    size_t bytes = 0;
    char* block = block_over_nodes(kind, omp_atv_blocked, &bytes);
    if (block == NULL) continue;
    ++tried;
    int changes = 0, last = -1;
    unsigned long seen = 0;
    for (size_t at = 0; at < bytes; at += 2 * MIB) {
      ompx_placement_t part = {.struct_size = sizeof part};
      check(ompx_get_placement(block + at, 4096, &part) == 0, "query");
      for (int node = 0; node < OMPX_MAX_NODES; ++node)
        if (part.node_bytes[node] == 4096)
          changes += node != last, last = node, seen |= 1ul << node;
    }
    check(changes == __builtin_popcountl(nodes_of[kind]) && seen == nodes_of[kind],
          "kind %d: %d parts on nodes %lx", kind, changes, seen);
    omp_free(block, omp_null_allocator);
  }
  check(tried > 0, "no kind with several nodes");
}

// ---- kinds that are there and kinds that are not

static int missing_kind(void) {
  for (int kind = 0; kind < 4; ++kind)
    if (node_of[kind] < 0) return kind;
  return -1;
}

static int missing_aborts(void) {
  const omp_alloctrait_t traits[] = {{omp_atk_fallback, omp_atv_abort_fb}};
  return omp_alloc(1000, make(kind_spaces[missing_kind()], 1, traits)) == NULL;
}

static void missing(void) {
  const omp_memspace_handle_t space = kind_spaces[missing_kind()];
  const omp_alloctrait_t null_fb[] = {{omp_atk_fallback, omp_atv_null_fb}};
  const omp_alloctrait_t other[] = {{omp_atk_fallback, omp_atv_allocator_fb},
                                    {omp_atk_fb_data, (omp_uintptr_t)ompx_dram_mem_alloc}};
  const omp_alloctrait_t preferred[] = {{ompx_atk_placement, ompx_atv_placement_preferred}};
  for (size_t bytes = 1; bytes < 4 * MIB; bytes *= 50) {
    check(omp_alloc(bytes, make(space, 1, null_fb)) == NULL, "null_fb");
    char* block = (char*)omp_alloc(bytes, make(space, 0, NULL));
    check(block != NULL && !is_placed(block), "default_mem_fb");
    check(placement_of(block).wanted_kind == missing_kind() && placement_of(block).required == 1,
          "what was wanted");
    omp_free(block, omp_null_allocator);
    block = (char*)omp_alloc(bytes, make(space, 2, other));
    check(is_placed(block), "allocator_fb");
    fill(block, bytes, 1);
    check(bytes_on_kind(block, bytes, ompx_kind_dram) == bytes, "allocator_fb: elsewhere");
    omp_free(block, omp_null_allocator);
    block = (char*)omp_alloc(bytes, make(space, 1, preferred));
    check(is_placed(block), "preferred: the next best");
    omp_free(block, omp_null_allocator);
  }
  catch_stderr();
  const int status = status_of_child(missing_aborts);
  caught_stderr();
  check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "abort_fb: %x", status);
}

// Every kind that is there, by space and by predefined allocator, in every way of asking.
static void every_kind(void) {
  for (int kind = 0; kind < 4; ++kind) {
    if (node_of[kind] < 0) continue;
    const omp_alloctrait_t align[] = {{omp_atk_alignment, 1 << 16}};
    const omp_allocator_handle_t handles[] = {(omp_allocator_handle_t)(501 + kind),
                                              make(kind_spaces[kind], 0, NULL),
                                              make(kind_spaces[kind], 1, align)};
    for (size_t h = 0; h < LENGTH(handles); ++h)
      for (size_t bytes = 1; bytes < 8 * MIB; bytes *= 60) {
        char* blocks[4] = {(char*)omp_alloc(bytes, handles[h]),
                           (char*)omp_aligned_alloc(1 << 20, bytes, handles[h]),
                           (char*)omp_calloc(bytes, 1, handles[h]),
                           (char*)omp_aligned_calloc(8192, 1, bytes, handles[h])};
        for (int i = 0; i < 4; ++i) {
          check(bytes_on_kind(blocks[i], bytes, kind) == bytes, "kind %d, way %d: %zu bytes", kind,
                i, bytes);
          fill(blocks[i], bytes, (unsigned)i);
        }
        check(aligned_to(blocks[1], 1 << 20) && aligned_to(blocks[3], 8192), "alignment");
        for (int i = 0; i < 4; ++i) {
          check(holds(blocks[i], bytes, (unsigned)i), "contents");
          blocks[i] = (char*)omp_realloc(blocks[i], bytes * 3, handles[h], handles[h]);
          check(bytes_on_kind(blocks[i], bytes * 3, kind) == bytes * 3, "kind %d: realloc", kind);
          check(holds(blocks[i], bytes, (unsigned)i), "contents after realloc");
          omp_free(blocks[i], handles[h]);
        }
      }
  }
}

// The standard spaces and predefined allocators are the kinds that the machine's table makes them,
// from every CPU; from the first of them with every partition and fallback too.
static void standard_spaces(void) {
  static const omp_memspace_handle_t spaces[] = {omp_large_cap_mem_space, omp_const_mem_space,
                                                 omp_high_bw_mem_space, omp_low_lat_mem_space};
  static const omp_allocator_handle_t predefined[] = {omp_large_cap_mem_alloc, omp_const_mem_alloc,
                                                      omp_high_bw_mem_alloc, omp_low_lat_mem_alloc};
  for (int cpu = 0; cpu < (int)sysconf(_SC_NPROCESSORS_ONLN); ++cpu) {
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((size_t)cpu, &here);
    check(sched_setaffinity(0, sizeof here, &here) == 0, "CPU %d", cpu);
    for (int space = 0; space < 4; ++space) {
      const int kind = standard_kinds[space];
      if (kind < 0) continue;
      for (omp_uintptr_t fallback = omp_atv_default_mem_fb; fallback <= omp_atv_allocator_fb;
           ++fallback)
        for (size_t p = cpu == 0 ? 0 : LENGTH(partitions); p <= LENGTH(partitions); ++p) {
          if (p == LENGTH(partitions) && fallback != omp_atv_default_mem_fb) continue;
          const omp_alloctrait_t traits[] = {
              {omp_atk_partition, p < LENGTH(partitions) ? partitions[p] : omp_atv_default},
              {omp_atk_fallback, fallback},
              {omp_atk_fb_data, (omp_uintptr_t)ompx_dram_mem_alloc}};
          const omp_allocator_handle_t a =
              p < LENGTH(partitions) ? make(spaces[space], 3, traits) : predefined[space];
          for (size_t bytes = 100; bytes < 4 * MIB; bytes *= 170) {
            char* block = (char*)omp_alloc(bytes, a);
            memset(block, 1, bytes);
            check(bytes_on_kind(block, bytes, kind) == bytes,
                  "CPU %d: %s, partition %zu: %zu bytes are not in %s", cpu, standard_names[space],
                  p, bytes, kind_names[kind]);
            omp_free(block, a);
          }
          if (p < LENGTH(partitions)) omp_destroy_allocator(a);
        }
    }
  }
}

// Each kind until it is full: what was given is there, every fallback is followed, the process
// lives, and half of it can be had again at once.
static omp_memspace_handle_t full_space;
static int full_aborts(void) {
  const omp_alloctrait_t traits[] = {{omp_atk_fallback, omp_atv_abort_fb}};
  return omp_alloc(16 * MIB, make(full_space, 1, traits)) == NULL;
}
static void exhaustion(void) {
  const omp_alloctrait_t null_fb[] = {{omp_atk_fallback, omp_atv_null_fb}};
  for (int kind = 0; kind < 4; ++kind) {
    if (node_of[kind] < 0) continue;
    const int other = kind == ompx_kind_dram ? here_kind : ompx_kind_dram;
    const omp_allocator_handle_t a = make(kind_spaces[kind], 1, null_fb);
    char* blocks[256];
    int count = 0;
    while (count < 256 && (blocks[count] = (char*)omp_alloc(16 * MIB, a)) != NULL) {
      check(bytes_on_kind(blocks[count], 16 * MIB, kind) == 16 * MIB, "%s: block %d spilled",
            kind_names[kind], count);
      ++count;
    }
    check(count >= 8 && count < 256, "%d blocks of 16 MiB in %s", count, kind_names[kind]);
    if (other != kind) {
      const omp_alloctrait_t chain[] = {
          {omp_atk_fallback, omp_atv_allocator_fb},
          {omp_atk_fb_data, (omp_uintptr_t)ompx_dram_mem_alloc + (omp_uintptr_t)other}};
      char* chained = (char*)omp_alloc(16 * MIB, make(kind_spaces[kind], 2, chain));
      check(bytes_on_kind(chained, 16 * MIB, other) == 16 * MIB, "%s is full: allocator_fb",
            kind_names[kind]);
      omp_free(chained, omp_null_allocator);
    }
    char* block = (char*)omp_alloc(16 * MIB, (omp_allocator_handle_t)(501 + kind));
    check(block != NULL, "%s is full: default_mem_fb", kind_names[kind]);
    if (kind != ompx_kind_dram) {
      fill(block, 16 * MIB, 1);
      check(bytes_on_kind(block, 16 * MIB, ompx_kind_dram) == 16 * MIB, "%s is full: elsewhere",
            kind_names[kind]);
    }
    omp_free(block, omp_null_allocator);
    full_space = kind_spaces[kind];
    catch_stderr();
    const int status = status_of_child(full_aborts);
    const char* said = caught_stderr();
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s is full: abort_fb: %x: %s",
          kind_names[kind], status, said);
    const int full = count;
    while (count > 0)
      omp_free(blocks[--count], a);
    block = (char*)omp_alloc((size_t)(full / 2) * 16 * MIB, a);
    check(block != NULL, "%s: not even half of %d blocks again", kind_names[kind], full);
    omp_free(block, a);
  }
}

// Resized from each kind to each other and to the runtime's memory and back.
static void realloc_between_kinds(void) {
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to) {
      if (node_of[from] < 0 || node_of[to] < 0 || from == to) continue;
      for (size_t bytes = 1000; bytes < 8 * MIB; bytes *= 60) {
        const omp_allocator_handle_t one = (omp_allocator_handle_t)(501 + from);
        const omp_allocator_handle_t two = (omp_allocator_handle_t)(501 + to);
        char* block = (char*)omp_alloc(bytes, one);
        fill(block, bytes, 1);
        block = (char*)omp_realloc(block, 2 * bytes, two, one);
        check(holds(block, bytes, 1) && bytes_on_kind(block, 2 * bytes, to) == 2 * bytes,
              "%d to %d", from, to);
        block = (char*)omp_realloc(block, bytes, omp_default_mem_alloc, two);
        check(holds(block, bytes, 1) && !is_placed(block), "%d to the runtime", to);
        block = (char*)omp_realloc(block, bytes / 2, one, omp_default_mem_alloc);
        check(holds(block, bytes / 2, 1) && bytes_on_kind(block, bytes / 2, from) == bytes / 2,
              "back to %d", from);
        omp_free(block, one);
      }
    }
}

static const semantics_case cases[] = {
    {"pinned-locked", pinned_locked, k_dram},
    {"pinned-reused", pinned_reused, k_dram},
    {"pinned-realloc", pinned_realloc, k_dram},
    {"pinned-threads", pinned_threads, k_dram},
    {"pinned-limit", pinned_limit, k_dram},
    {"pinned-not", pinned_not, k_dram},
    {"partition-values", partition_values, k_dram},
    {"partition-default-space", partition_default_space, k_dram},
    {"partition-interleaved", partition_interleaved, k_several},
    {"partition-blocked", partition_blocked, k_several},
    {"missing", missing, k_dram | k_missing},
    {"every-kind", every_kind, k_dram},
    {"standard-spaces", standard_spaces, k_dram},
    {"exhaustion", exhaustion, k_other},
    {"realloc-between-kinds", realloc_between_kinds, k_dram | k_other}};

int main(int argc, char** argv) {
  return run_cases(cases, LENGTH(cases), argc, argv);
}
