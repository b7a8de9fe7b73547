// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of allocators, case by case: allocators_cases CASE [kind=node …]. Where memory is, is
// asked from the kernel here, by move_pages, not from OMPTier. The kinds named on the command line
// are those of the machine it runs on with the node of each (the first where there are several);
// cases that need a kind that is not named fail. Exit 0: the case holds.
#define _GNU_SOURCE
#include "allocators_cases.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

// Every kind of this machine: large, small, aligned blocks, in place before they are touched.
static void case_required(void) {
  const omp_allocator_handle_t handles[] = {ompx_dram_mem_alloc, ompx_hbm_mem_alloc,
                                            ompx_nvm_mem_alloc, ompx_cxl_mem_alloc};
  int found = 0;
  for (int kind = 0; kind < 4; ++kind) {
    if (node_of[kind] < 0) continue;
    ++found;
    const size_t bytes = (8u << 20) + 12345;
    char* large = omp_alloc(bytes, handles[kind]);
    check(large != NULL, "no large block of kind %d", kind);
    check(bytes_on_kind(large, bytes, kind) == bytes, "kind %d: %zu of %zu bytes there", kind,
          bytes_on_kind(large, bytes, kind), bytes);
    memset(large, 1, bytes);
    check(bytes_on_kind(large, bytes, kind) == bytes, "kind %d moved", kind);
    char* small[1000];
    for (int i = 0; i < 1000; ++i) {
      small[i] = omp_alloc(100, handles[kind]);
      check(small[i] != NULL && bytes_on_kind(small[i], 100, kind) == 100, "small block %d", i);
      memset(small[i], i, 100);
    }
    for (int i = 0; i < 1000; ++i) {
      check(small[i][99] == (char)i, "small block %d overwritten", i);
      omp_free(small[i], i % 2 ? handles[kind] : omp_null_allocator);
    }
    char* aligned = omp_aligned_alloc(1 << 22, 5000000, handles[kind]);
    check((uintptr_t)aligned % (1 << 22) == 0, "misaligned");
    check(bytes_on_kind(aligned, 5000000, kind) == 5000000, "aligned block elsewhere");
    omp_free(aligned, handles[kind]);
    omp_free(large, handles[kind]);
  }
  check(found > 0, "no kind named");
}

// A kind that this machine lacks is like a full one.
static void case_lacking(void) {
  int missing = -1;
  for (int kind = 0; kind < 4; ++kind)
    if (node_of[kind] < 0) missing = kind;
  check(missing >= 0, "this machine has every kind");
  const omp_memspace_handle_t space = (omp_memspace_handle_t)(501 + missing);
  omp_alloctrait_t null_fb[] = {{omp_atk_fallback, omp_atv_null_fb}};
  omp_allocator_handle_t a = omp_init_allocator(space, 1, null_fb);
  check(a != omp_null_allocator, "refused");
  check(omp_alloc(1 << 20, a) == NULL, "memory from nowhere");
  check(omp_alloc(16, a) == NULL, "memory from nowhere");
  omp_destroy_allocator(a);
  omp_allocator_handle_t b = omp_init_allocator(space, 0, NULL);
  char* block = omp_alloc(1 << 20, b);
  check(block != NULL, "default_mem_fb gave nothing");
  memset(block, 1, 1 << 20);
  ompx_placement_t placement = {.struct_size = sizeof placement};
  check(ompx_get_placement(block, 0, &placement) == 0 && placement.wanted_kind == missing,
        "the fallback is not told: %s", placement.reason);
  omp_free(block, b);
  omp_destroy_allocator(b);
}

// HBM until it is full, then every fallback.
static void case_exhaustion(void) {
  need(ompx_kind_hbm);
  enum { k_most = 256 };
  const size_t step = 16u << 20;
  char* blocks[k_most];
  int count = 0;
  omp_alloctrait_t null_fb[] = {{omp_atk_fallback, omp_atv_null_fb}};
  omp_allocator_handle_t a = omp_init_allocator(ompx_hbm_mem_space, 1, null_fb);
  while (count < k_most && (blocks[count] = omp_alloc(step, a)) != NULL) {
    check(bytes_on_kind(blocks[count], step, ompx_kind_hbm) == step, "block %d spilled", count);
    ++count;
  }
  printf("%d blocks of 16 MiB before the node was full\n", count);
  check(count > 4 && count < k_most, "%d blocks", count);
  int small = 0;
  while (omp_alloc(200000, a) != NULL)
    check(++small < 10000, "small blocks never end");

  char* by_default = omp_alloc(step, ompx_hbm_mem_alloc);
  check(by_default != NULL, "default_mem_fb");
  memset(by_default, 1, step);
  check(bytes_on_kind(by_default, step, ompx_kind_hbm) < step / 2, "not the default memory");
  omp_free(by_default, ompx_hbm_mem_alloc);

  if (node_of[ompx_kind_nvm] >= 0) {
    omp_alloctrait_t to_nvm[] = {{omp_atk_fallback, omp_atv_allocator_fb},
                                 {omp_atk_fb_data, ompx_nvm_mem_alloc}};
    omp_allocator_handle_t b = omp_init_allocator(ompx_hbm_mem_space, 2, to_nvm);
    char* chained = omp_alloc(step, b);
    check(chained != NULL && bytes_on_kind(chained, step, ompx_kind_nvm) == step, "allocator_fb");
    omp_free(chained, b);
  }

  const pid_t child = fork();
  if (child == 0) {
    omp_alloctrait_t abort_fb[] = {{omp_atk_fallback, omp_atv_abort_fb}};
    omp_allocator_handle_t c = omp_init_allocator(ompx_hbm_mem_space, 1, abort_fb);
    _exit(omp_alloc(step, c) == NULL ? 1 : 2);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child, "waitpid");
  check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "abort_fb: status %x", status);

  while (count > 0)
    omp_free(blocks[--count], a);
  char* again = omp_alloc(4 * step, a);
  check(again != NULL && bytes_on_kind(again, 4 * step, ompx_kind_hbm) == 4 * step,
        "nothing after all was freed");
}

// Preferred memory goes to the next tier when its own is full; the process lives on.
static void case_preferred(void) {
  need(ompx_kind_hbm);
  omp_alloctrait_t preferred[] = {{ompx_atk_placement, ompx_atv_placement_preferred}};
  omp_allocator_handle_t a = omp_init_allocator(ompx_hbm_mem_space, 1, preferred);
  const size_t step = 32u << 20;
  size_t on_hbm = 0, elsewhere = 0;
  for (int i = 0; i < 24; ++i) {
    char* block = omp_alloc(step, a);
    check(block != NULL, "block %d", i);
    memset(block, 1, step);
    const size_t there = bytes_on_kind(block, step, ompx_kind_hbm);
    on_hbm += there;
    elsewhere += step - there;
  }
  printf("preferred HBM: %zu MiB there, %zu MiB elsewhere\n", on_hbm >> 20, elsewhere >> 20);
  check(on_hbm >= 300u << 20, "too little on HBM");
  check(elsewhere >= 200u << 20, "more than there is");
}

// Another process takes the memory: noticed, and used again when it is gone.
static void case_taken(void) {
  need(ompx_kind_hbm);
  const size_t bytes = 300u << 20;
  omp_alloctrait_t null_fb[] = {{omp_atk_fallback, omp_atv_null_fb}};
  omp_allocator_handle_t a = omp_init_allocator(ompx_hbm_mem_space, 1, null_fb);
  int ready[2], done[2];
  check(pipe(ready) == 0 && pipe(done) == 0, "pipe");
  const pid_t child = fork();
  if (child == 0) {
    char byte = 1;
    char* taken = map_on_node(bytes, node_of[ompx_kind_hbm]);
    byte = taken != NULL && bytes_on_kind(taken, bytes, ompx_kind_hbm) > bytes / 10 * 9;
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    if (read(done[0], &byte, 1) < 0) _exit(1);
    _exit(0);
  }
  char byte = 0;
  check(read(ready[0], &byte, 1) == 1 && byte == 1, "the other process got no HBM");
  check(omp_alloc(bytes, a) == NULL, "memory that another process has");
  check(write(done[1], &byte, 1) == 1, "write");
  waitpid(child, NULL, 0);
  char* block = omp_alloc(bytes, a);
  check(block != NULL && bytes_on_kind(block, bytes, ompx_kind_hbm) == bytes, "not used again");
}

// Run with OMPTIER_CAPACITY=hbm:64M,dram:32M.
static void case_capacity(void) {
  need(ompx_kind_hbm);
  omp_alloctrait_t null_fb[] = {{omp_atk_fallback, omp_atv_null_fb}};
  omp_allocator_handle_t hbm = omp_init_allocator(ompx_hbm_mem_space, 1, null_fb);
  omp_allocator_handle_t dram = omp_init_allocator(ompx_dram_mem_space, 1, null_fb);
  char* first = omp_alloc(40u << 20, hbm);
  check(first != NULL, "40 of 64 MiB");
  check(omp_alloc(40u << 20, hbm) == NULL, "80 of 64 MiB");
  check(omp_alloc(24u << 20, hbm) != NULL, "64 of 64 MiB");
  check(omp_alloc(100, hbm) == NULL, "100 bytes more");
  check(omp_alloc(33u << 20, dram) == NULL, "33 of 32 MiB");
  check(omp_alloc(32u << 20, dram) != NULL, "32 of 32 MiB");
  omp_free(first, hbm);
  check(omp_alloc(100, hbm) != NULL, "not given back");
}

// The standard spaces on a machine of DRAM, HBM and NVM.
static void case_standard(void) {
  need(ompx_kind_hbm);
  need(ompx_kind_nvm);
  const struct {
    omp_allocator_handle_t handle;
    omp_memspace_handle_t space;
    int kind;
  } wanted[] = {{omp_high_bw_mem_alloc, omp_high_bw_mem_space, ompx_kind_hbm},
                {omp_low_lat_mem_alloc, omp_low_lat_mem_space, ompx_kind_dram},
                {omp_large_cap_mem_alloc, omp_large_cap_mem_space, ompx_kind_nvm},
                {omp_const_mem_alloc, omp_const_mem_space, ompx_kind_hbm}};
  for (int i = 0; i < 4; ++i) {
    char* block = omp_alloc(3000000, wanted[i].handle);
    check(block != NULL && bytes_on_kind(block, 3000000, wanted[i].kind) == 3000000,
          "predefined allocator %d", i);
    omp_free(block, wanted[i].handle);
    omp_allocator_handle_t a = omp_init_allocator(wanted[i].space, 0, NULL);
    block = omp_alloc(3000000, a);
    check(block != NULL && bytes_on_kind(block, 3000000, wanted[i].kind) == 3000000, "space %d", i);
    omp_free(block, a);
    omp_destroy_allocator(a);
  }
  // auto: what is random wants latency, what is streamed bandwidth; what is never used gets the
  // rest.
  omp_alloctrait_t random[] = {{ompx_atk_access_pattern, ompx_atv_access_pattern_random}};
  omp_alloctrait_t stream[] = {{ompx_atk_access_pattern, ompx_atv_access_pattern_sequential}};
  omp_alloctrait_t cold[] = {{ompx_atk_access_frequency, 0}};
  const int kinds[] = {ompx_kind_dram, ompx_kind_hbm, ompx_kind_nvm};
  omp_alloctrait_t* traits[] = {random, stream, cold};
  for (int i = 0; i < 3; ++i) {
    omp_allocator_handle_t a = omp_init_allocator(ompx_auto_mem_space, 1, traits[i]);
    char* block = omp_alloc(4 << 20, a);
    check(block != NULL, "auto %d", i);
    memset(block, 1, 4 << 20);
    check(bytes_on_kind(block, 4 << 20, kinds[i]) == 4 << 20, "auto %d elsewhere", i);
    omp_free(block, a);
  }
}

// Allocates and touches a block whose first bytes must lie in DRAM, all others in NVM.
static char* split_block(size_t bytes, size_t in_dram, omp_allocator_handle_t allocator) {
  char* block = omp_alloc(bytes, allocator);
  check(block != NULL, "no block of %zu bytes", bytes);
  memset(block, 1, bytes);
  const size_t front = bytes_on_kind(block, in_dram, ompx_kind_dram);
  check(front == in_dram, "%zu of the first %zu bytes in DRAM", front, in_dram);
  const size_t rest = bytes_on_kind(block + in_dram, bytes - in_dram, ompx_kind_nvm);
  check(rest == bytes - in_dram, "%zu of the other %zu bytes in NVM", rest, bytes - in_dram);
  return block;
}

// Run with OMPTIER_STRATEGY=first-come OMPTIER_CAPACITY=hbm:0,dram:32M. The faster memory is filled
// to the page, whatever the allocator: a block that does not fit begins there.
static void case_first_come(void) {
  need(ompx_kind_nvm);
  const size_t mib = 1u << 20;
  char* whole = split_block(21 * mib, 21 * mib, omp_default_mem_alloc);
  char* split = split_block(20 * mib, 11 * mib, ompx_nvm_mem_alloc);
  char* behind = split_block(8 * mib, 0, omp_default_mem_alloc);
  omp_free(whole, omp_default_mem_alloc);
  char* again = split_block(6 * mib, 6 * mib, omp_default_mem_alloc);
  char* last = split_block(24 * mib, 15 * mib, ompx_nvm_mem_alloc);
  char* blocks[] = {split, behind, again, last};
  for (int i = 0; i < 4; ++i)
    omp_free(blocks[i], omp_null_allocator);
  omp_free(split_block(32 * mib, 32 * mib, omp_default_mem_alloc), omp_null_allocator);
  char* tiny = omp_alloc(100, omp_default_mem_alloc);
  check(tiny != NULL, "tiny");
  omp_free(tiny, omp_default_mem_alloc);
}

// Run with OMPTIER_STRATEGY=only-nvm.
static void case_only_nvm(void) {
  need(ompx_kind_nvm);
  char* block = omp_calloc(1 << 20, 8, omp_null_allocator);
  memset(block, 1, 8 << 20);
  check(bytes_on_kind(block, 8 << 20, ompx_kind_nvm) == 8 << 20, "elsewhere");
  block = omp_realloc(block, 12 << 20, omp_null_allocator, omp_null_allocator);
  memset(block, 1, 12 << 20);
  check(bytes_on_kind(block, 12 << 20, ompx_kind_nvm) == 12 << 20, "elsewhere after realloc");
  omp_free(block, omp_null_allocator);
}

// Run with OMP_ALLOCATOR=ompx_nvm_mem_space:alignment=4K,label=all.
static void case_environment(void) {
  need(ompx_kind_nvm);
  char* block = omp_alloc(1000000, omp_null_allocator);
  check(block != NULL && (uintptr_t)block % 4096 == 0, "alignment");
  check(bytes_on_kind(block, 1000000, ompx_kind_nvm) == 1000000, "elsewhere");
  omp_free(block, omp_null_allocator);
}

static void case_semantics(void);
static void case_threads(void);

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {{"required", case_required},     {"lacking", case_lacking},
             {"exhaustion", case_exhaustion}, {"preferred", case_preferred},
             {"taken", case_taken},           {"capacity", case_capacity},
             {"standard", case_standard},     {"first-come", case_first_come},
             {"only-nvm", case_only_nvm},     {"environment", case_environment},
             {"semantics", case_semantics},   {"threads", case_threads}};

int main(int argc, char** argv) {
  if (argc < 2) return fprintf(stderr, "allocators_cases CASE [kind=node ...]\n"), 2;
  read_nodes(argc - 2, argv + 2);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    if (strcmp(cases[i].name, argv[1]) == 0) {
      cases[i].run();
      printf("%s holds, %d checks\n", argv[1], checks);
      return 0;
    }
  fprintf(stderr, "no case %s\n", argv[1]);
  return 2;
}

static void refused_and_kept_traits(void) {
  omp_alloctrait_t bad_key[] = {{(omp_alloctrait_key_t)77, 1}};
  check(omp_init_allocator(ompx_dram_mem_space, 1, bad_key) == omp_null_allocator, "unknown key");
  omp_alloctrait_t bad_value[] = {{ompx_atk_lifetime, ompx_atv_access_pattern_random}};
  check(omp_init_allocator(ompx_dram_mem_space, 1, bad_value) == omp_null_allocator, "bad value");
  check(omp_init_allocator((omp_memspace_handle_t)555, 0, NULL) == omp_null_allocator, "bad space");
  omp_alloctrait_t required[] = {{ompx_atk_placement, ompx_atv_placement_required}};
  check(omp_init_allocator(ompx_auto_mem_space, 1, required) == omp_null_allocator,
        "auto+required");
  omp_alloctrait_t label[] = {{ompx_atk_label, (omp_uintptr_t) "text"}};
  check(omp_init_allocator(ompx_dram_mem_space, 1, label) == omp_null_allocator, "pointer as name");
  label[0].value = ompx_name("text");
  omp_allocator_handle_t a = omp_init_allocator(omp_default_mem_space, 1, label);
  check(a != omp_null_allocator, "label on the default space");
  char* stock = omp_alloc(1000, a);
  check(stock != NULL, "default space");
  ompx_placement_t placement = {.struct_size = sizeof placement};
  check(ompx_get_placement(stock, 0, &placement) == 0 && placement.block_bytes == 1000, "size");
  omp_free(stock, a);
  check(ompx_get_placement(stock, 0, &placement) == -1 && errno == EINVAL, "still known");
  omp_destroy_allocator(a);
}

// pool_size counts the program's bytes.
static void pool_of_bytes(void) {
  omp_alloctrait_t pool[] = {{omp_atk_pool_size, 1 << 20}, {omp_atk_fallback, omp_atv_null_fb}};
  const omp_allocator_handle_t a = omp_init_allocator(ompx_dram_mem_space, 2, pool);
  char* half = omp_alloc(1 << 19, a);
  char* rest = omp_alloc(1 << 19, a);
  check(half != NULL && rest != NULL, "the pool holds its bytes");
  check(omp_alloc(1, a) == NULL, "one byte too many");
  omp_free(half, a);
  check((half = omp_alloc(1 << 19, a)) != NULL, "the pool is refilled");
  omp_destroy_allocator(a); // with live blocks: they stay good
  memset(half, 1, 1 << 19);
  omp_free(half, omp_null_allocator);
  omp_free(rest, omp_null_allocator);
}

static void sizes_and_zeroing(void) {
  check(omp_alloc(0, ompx_dram_mem_alloc) == NULL, "size 0");
  omp_free(NULL, ompx_dram_mem_alloc);
  check(omp_calloc((size_t)1 << 40, (size_t)1 << 40, ompx_dram_mem_alloc) == NULL, "overflow");
  check(omp_alloc((size_t)1 << 60, ompx_dram_mem_alloc) == NULL, "2^60 bytes");
  for (int round = 0; round < 3; ++round) {
    unsigned char* zeroed = omp_calloc(777, 1000, ompx_dram_mem_alloc);
    for (int i = 0; i < 777000; ++i)
      if (zeroed[i] != 0) check(0, "byte %d is not zero", i);
    memset(zeroed, 255, 777000);
    omp_free(zeroed, omp_null_allocator);
  }
}

// Grows across all sizes, between our memory and the runtime's, keeps the bytes.
static void reallocation(void) {
  unsigned char* p = NULL;
  size_t old = 0;
  const omp_allocator_handle_t owners[] = {ompx_dram_mem_alloc, omp_default_mem_alloc};
  for (int i = 0; i < 40; ++i) {
    const size_t bytes = (size_t)1 << (4 + i % 20);
    const omp_allocator_handle_t owner = owners[i / 2 % 2];
    p = omp_realloc(p, bytes, owner, i == 0 ? owner : owners[(i - 1) / 2 % 2]);
    check(p != NULL, "realloc %d", i);
    for (size_t at = 0; at < (old < bytes ? old : bytes); ++at)
      if (p[at] != (unsigned char)(at * 7)) check(0, "realloc %d lost byte %zu", i, at);
    for (size_t at = 0; at < bytes; ++at)
      p[at] = (unsigned char)(at * 7);
    old = bytes;
  }
  omp_free(p, omp_null_allocator);
}

static void default_of_the_thread(void) {
  omp_set_default_allocator(ompx_dram_mem_alloc);
  char* p = omp_alloc(500000, omp_null_allocator);
  ompx_placement_t placement = {.struct_size = sizeof placement};
  check(ompx_get_placement(p, 0, &placement) == 0 && placement.bytes[0] == 500000, "default: %s",
        placement.reason);
  omp_set_default_allocator(omp_default_mem_alloc);
  omp_free(p, omp_null_allocator);
}

// What needs no second kind of memory.
static void case_semantics(void) {
  refused_and_kept_traits();
  pool_of_bytes();
  sizes_and_zeroing();
  reallocation();
  default_of_the_thread();
  check(ompx_phase("a phase") == -1 && ompx_phase("phase-1") == 0 && ompx_phase(NULL) == 0,
        "phase");
  check(ompx_dump(-1) == -1, "dump to nowhere");
}

static void case_threads(void) {
  long wrong = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong)
  {
    unsigned char* kept[64] = {0};
    size_t sizes[64];
    unsigned seed = 17u + (unsigned)omp_get_thread_num();
    for (int i = 0; i < 20000; ++i) {
      seed = seed * 1103515245u + 12345u;
      const int slot = seed >> 8 & 63;
      if (kept[slot] != NULL) {
        wrong += kept[slot][0] != (unsigned char)slot ||
                 kept[slot][sizes[slot] - 1] != (unsigned char)slot;
        omp_free(kept[slot], omp_null_allocator);
      }
      sizes[slot] = 1 + (seed >> 16) % 4000;
      kept[slot] = omp_alloc(sizes[slot], ompx_dram_mem_alloc);
      memset(kept[slot], slot, sizes[slot]);
    }
    for (int slot = 0; slot < 64; ++slot)
      omp_free(kept[slot], ompx_dram_mem_alloc);
  }
  check(wrong == 0, "%ld wrong bytes", wrong);
  // A forked child goes on with what it inherited.
  char* before = omp_alloc(1 << 20, ompx_dram_mem_alloc);
  memset(before, 5, 1 << 20);
  const pid_t child = fork();
  if (child == 0) {
    char* more = omp_alloc(100, ompx_dram_mem_alloc);
    char* large = omp_alloc(1 << 20, ompx_dram_mem_alloc);
    const int good = before[12345] == 5 && more != NULL && large != NULL && large != before;
    omp_free(before, omp_null_allocator);
    omp_free(more, omp_null_allocator);
    _exit(good ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  check(status == 0, "child: %x", status);
  check(before[12345] == 5, "the child changed the parent's memory");
  omp_free(before, omp_null_allocator);
}
