// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks: alignment by trait and by argument, pool_size to the byte, calloc, realloc within and
// across allocators, free, sizes of zero and beyond all memory, allocators that were destroyed.
#include "semantics.h"

static omp_allocator_handle_t with(omp_memspace_handle_t space, omp_alloctrait_key_t key,
                                   omp_uintptr_t value) {
  const omp_alloctrait_t traits[] = {{key, value}, {omp_atk_fallback, omp_atv_null_fb}};
  const omp_allocator_handle_t a = make(space, 2, traits);
  check(a != omp_null_allocator, "key %d = %zu", (int)key, (size_t)value);
  return a;
}
static omp_allocator_handle_t pool(size_t bytes) {
  return with(here_space, omp_atk_pool_size, bytes);
}

// ---- alignment

static void alignment_trait(void) {
  const omp_memspace_handle_t spaces[] = {here_space, omp_default_mem_space};
  for (size_t s = 0; s < 2; ++s)
    for (size_t alignment = 1; alignment <= (size_t)1 << (s == 0 ? 30 : 24); alignment *= 2) {
      const omp_allocator_handle_t a = with(spaces[s], omp_atk_alignment, alignment);
      static const size_t sizes[] = {1, 700, 70000, 400000};
      char* blocks[4];
      for (int i = 0; i < 4; ++i) {
        blocks[i] = (char*)omp_alloc(sizes[i], a);
        check(aligned_to(blocks[i], alignment), "%zu bytes at %zu: %p", sizes[i], alignment,
              (void*)blocks[i]);
        fill(blocks[i], sizes[i], (unsigned)i);
      }
      for (int i = 0; i < 4; ++i) {
        check(holds(blocks[i], sizes[i], (unsigned)i), "blocks at %zu overlap", alignment);
        omp_free(blocks[i], a);
      }
      omp_destroy_allocator(a);
    }
}

static void alignment_argument(void) {
  const omp_uintptr_t handles[] = {1, 2, 5, 500, here_number};
  for (size_t h = 0; h < LENGTH(handles); ++h)
    for (size_t alignment = 1; alignment <= (size_t)1 << (handles[h] == here_number ? 30 : 22);
         alignment *= 2) {
      const omp_allocator_handle_t a = (omp_allocator_handle_t)handles[h];
      char* block = (char*)omp_aligned_alloc(alignment, 5000, a);
      char* zeroed = (char*)omp_aligned_calloc(alignment, 5, 1000, a);
      check(aligned_to(block, alignment) && aligned_to(zeroed, alignment), "%zu: %p %p", alignment,
            (void*)block, (void*)zeroed);
      check(all_zero(zeroed, 5000), "calloc");
      fill(block, 5000, 1);
      check(all_zero(zeroed, 5000) && holds(block, 5000, 1), "overlap");
      omp_free(zeroed, a);
      omp_free(block, a);
    }
}

// The stricter of trait and argument.
static void alignment_both(void) {
  for (size_t trait = 16; trait <= MIB; trait *= 16)
    for (size_t argument = 16; argument <= MIB; argument *= 16) {
      const omp_allocator_handle_t a = with(here_space, omp_atk_alignment, trait);
      const size_t both = trait > argument ? trait : argument;
      for (size_t bytes = 1; bytes <= MIB; bytes = bytes * 64 + 1) {
        char* block = (char*)omp_aligned_alloc(argument, bytes, a);
        char* zeroed = (char*)omp_aligned_calloc(argument, bytes, 1, a);
        check(aligned_to(block, both) && aligned_to(zeroed, both), "%zu and %zu", trait, argument);
        omp_free(block, a);
        omp_free(zeroed, a);
      }
      omp_destroy_allocator(a);
    }
}

// Without any, as malloc aligns.
static void alignment_none(void) {
  const omp_uintptr_t handles[] = {1, 2, 3, 4, 5, 6, 7, 8, 500, here_number};
  for (size_t h = 0; h < LENGTH(handles); ++h)
    for (size_t bytes = 1; bytes < 200; ++bytes) {
      char* block = (char*)omp_alloc(bytes, (omp_allocator_handle_t)handles[h]);
      check(aligned_to(block, _Alignof(max_align_t)), "%zu: %p", bytes, (void*)block);
      block = (char*)omp_realloc(block, bytes + 9, (omp_allocator_handle_t)handles[h],
                                 (omp_allocator_handle_t)handles[h]);
      check(aligned_to(block, _Alignof(max_align_t)), "realloc %zu: %p", bytes, (void*)block);
      omp_free(block, omp_null_allocator);
    }
}

// A resized block keeps the trait of its allocator.
static void alignment_realloc(void) {
  const omp_allocator_handle_t a = with(here_space, omp_atk_alignment, 8192);
  char* block = (char*)omp_alloc(10, a);
  for (size_t bytes = 10; bytes < 4 * MIB; bytes *= 3) {
    block = (char*)omp_realloc(block, bytes, a, a);
    check(aligned_to(block, 8192), "%zu: %p", bytes, (void*)block);
  }
  omp_free(block, a);
}

// ---- pool_size

static void pool_bytes(void) {
  for (size_t bytes = 1; bytes <= 4 * MIB; bytes *= 4) {
    const omp_allocator_handle_t a = pool(bytes);
    check(omp_alloc(bytes + 1, a) == NULL, "one byte too many of %zu", bytes);
    for (int round = 0; round < 3; ++round) {
      char* block = (char*)omp_alloc(bytes, a);
      check(block != NULL, "all %zu bytes of the pool", bytes);
      check(omp_alloc(1, a) == NULL, "a byte more than %zu", bytes);
      omp_free(block, a);
    }
    omp_destroy_allocator(a);
  }
  const omp_allocator_handle_t a = pool(1000);
  char* blocks[1000];
  for (int i = 0; i < 1000; ++i)
    check((blocks[i] = (char*)omp_alloc(1, a)) != NULL, "byte %d", i);
  check(omp_alloc(1, a) == NULL, "byte 1001");
  for (int i = 0; i < 1000; ++i)
    omp_free(blocks[i], a);
  check(omp_alloc(1000, a) != NULL, "all given back");
}

// Many threads at once: as many blocks as the pool holds, not one more, not one less.
static void pool_race(void) {
  static const size_t sizes[] = {64, 65536, 512 * 1024};
  for (size_t s = 0; s < LENGTH(sizes); ++s) {
    const omp_allocator_handle_t a = pool(32 * sizes[s]);
    for (int round = 0; round < 20; ++round) {
      int served = 0;
#pragma omp parallel num_threads(8) reduction(+ : served)
      {
        char* mine[16];
        for (int i = 0; i < 16; ++i)
          served += (mine[i] = (char*)omp_alloc(sizes[s], a)) != NULL;
#pragma omp barrier
        for (int i = 0; i < 16; ++i)
          omp_free(mine[i], a);
      }
      check(served == 32, "%d of 32 blocks of %zu", served, sizes[s]);
    }
  }
}

static void pool_realloc(void) {
  for (size_t unit = 1000; unit < 4 * MIB; unit *= 30) {
    const omp_allocator_handle_t a = pool(10 * unit);
    char* block = (char*)omp_alloc(4 * unit, a);
    fill(block, 4 * unit, 1);
    // Only one of the two counts, even where the block moves.
    block = (char*)omp_realloc(block, 9 * unit, a, a);
    check(block != NULL && holds(block, 4 * unit, 1), "grown to 9 of 10");
    check(omp_alloc(unit + 1, a) == NULL, "more than the tenth");
    block = (char*)omp_realloc(block, 10 * unit, a, a);
    check(block != NULL && holds(block, 4 * unit, 1), "grown to all");
    check(omp_realloc(block, 10 * unit + 1, a, a) == NULL, "grown beyond");
    check(holds(block, 4 * unit, 1), "the old block is untouched");
    block = (char*)omp_realloc(block, 2 * unit, a, a);
    check(block != NULL && holds(block, 2 * unit, 1), "shrunk");
    char* rest = (char*)omp_alloc(8 * unit, a);
    check(rest != NULL, "what was shrunk away is there");
    check(omp_alloc(1, a) == NULL, "and no more");
    omp_free(rest, a);
    omp_free(block, a);
    check(omp_alloc(10 * unit, a) != NULL, "all is there again");
  }
}

// Destroyed and made again: a pool of its own.
static void pool_again(void) {
  for (int round = 0; round < 200; ++round) {
    const omp_allocator_handle_t a = pool(100000);
    char* block = (char*)omp_alloc(100000, a);
    check(block != NULL, "round %d", round);
    check(omp_alloc(1, a) == NULL, "round %d: more", round);
    if (round % 2) omp_free(block, a);
    omp_destroy_allocator(a);
    if (round % 2 == 0) omp_free(block, omp_null_allocator);
  }
}

// A block of the fallback is not of the pool.
static void pool_fallback(void) {
  const omp_alloctrait_t traits[] = {{omp_atk_pool_size, 1000}};
  const omp_allocator_handle_t a = make(here_space, 1, traits);
  char* inside = (char*)omp_alloc(600, a);
  char* outside = (char*)omp_alloc(600, a);
  check(is_placed(inside) && outside != NULL && !is_placed(outside), "one inside, one outside");
  omp_free(outside, a);
  char* second = (char*)omp_alloc(600, a);
  check(second != NULL && !is_placed(second), "the pool grew by a block that was not of it");
  omp_free(inside, a);
  char* third = (char*)omp_alloc(600, a);
  check(is_placed(third), "the pool has room again");
  // Resized into the pool and out of it.
  second = (char*)omp_realloc(second, 400, a, a);
  check(is_placed(second), "400 of 1000 beside 600");
  second = (char*)omp_realloc(second, 500, a, a);
  check(second != NULL && !is_placed(second), "500 beside 600");
  char* fourth = (char*)omp_alloc(400, a);
  check(is_placed(fourth), "the 400 bytes are free again");
  omp_free(second, a);
  omp_free(third, a);
  omp_free(fourth, a);
  check(is_placed(omp_alloc(1000, a)), "all is there");
}

// Of standard names only: counted as libomp counts, with its descriptor.
static void pool_standard(void) {
  const omp_allocator_handle_t a = with(omp_low_lat_mem_space, omp_atk_pool_size, 2 * MIB);
  char* one = (char*)omp_alloc(MIB, a);
  check(one != NULL && omp_alloc(MIB, a) == NULL, "exactly one of two halves");
  char* rest = (char*)omp_alloc(MIB - 1000, a);
  check(rest != NULL, "a little less than the other half");
  omp_free(one, a);
  omp_free(rest, a);
  check((one = (char*)omp_alloc(2 * MIB - 1000, a)) != NULL, "all given back");
  one = (char*)omp_realloc(one, MIB, a, a);
  check(one != NULL && omp_alloc(MIB - 1000, a) != NULL, "resized");
}

// ---- calloc

static void calloc_zeroed(void) {
  const omp_uintptr_t handles[] = {1, 2, 3, 4, 5, 6, 500, here_number};
  for (size_t h = 0; h < LENGTH(handles); ++h)
    for (size_t bytes = 8; bytes <= 8 * MIB; bytes *= 8)
      for (int round = 0; round < 3; ++round) { // used blocks come again
        const omp_allocator_handle_t a = (omp_allocator_handle_t)handles[h];
        unsigned char* block = (unsigned char*)omp_calloc(bytes / 8, 8, a);
        unsigned char* aligned = (unsigned char*)omp_aligned_calloc(4096, 8, bytes / 8, a);
        check(block != NULL && aligned_to(aligned, 4096), "%zu of %zu", bytes, (size_t)handles[h]);
        check(all_zero(block, bytes) && all_zero(aligned, bytes), "round %d: %zu not zero", round,
              bytes);
        memset(block, 255, bytes);
        memset(aligned, 255, bytes);
        omp_free(block, a);
        omp_free(aligned, a);
      }
}

static omp_allocator_handle_t aborting;
static int overflow_aborts(void) {
  return omp_calloc((size_t)1 << 40, (size_t)1 << 40, aborting) == NULL ? 1 : 2;
}
static void calloc_overflow(void) {
  const omp_uintptr_t handles[] = {1, 2, 3, 4, 5, 6, 7, 8, 500, here_number, 502, 503, 504};
  for (size_t h = 0; h < LENGTH(handles); ++h) {
    const omp_allocator_handle_t a = (omp_allocator_handle_t)handles[h];
    check(omp_calloc((size_t)1 << 40, (size_t)1 << 40, a) == NULL, "%zu", (size_t)handles[h]);
    check(omp_calloc(SIZE_MAX, 2, a) == NULL, "%zu", (size_t)handles[h]);
    check(omp_aligned_calloc(64, 2, SIZE_MAX / 2 + 2, a) == NULL, "%zu", (size_t)handles[h]);
  }
  const omp_memspace_handle_t spaces[] = {omp_default_mem_space, omp_low_lat_mem_space, here_space,
                                          ompx_auto_mem_space};
  for (size_t s = 0; s < LENGTH(spaces); ++s) {
    const omp_allocator_handle_t a = with(spaces[s], omp_atk_alignment, 64);
    check(omp_calloc(SIZE_MAX / 2, 3, a) == NULL, "space %zu", s);
    const omp_alloctrait_t abort_fb[] = {{omp_atk_fallback, omp_atv_abort_fb}};
    aborting = make(spaces[s], 1, abort_fb);
    catch_stderr();
    const int status = status_of_child(overflow_aborts);
    caught_stderr();
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "space %zu: %x", s, status);
  }
}

// ---- sizes

static void size_zero(void) {
  const omp_uintptr_t handles[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 500, here_number, 502, 503, 504};
  for (size_t h = 0; h < LENGTH(handles); ++h) {
    const omp_allocator_handle_t a = (omp_allocator_handle_t)handles[h];
    check(omp_alloc(0, a) == NULL && omp_aligned_alloc(64, 0, a) == NULL, "%zu",
          (size_t)handles[h]);
    check(omp_calloc(0, 8, a) == NULL && omp_calloc(8, 0, a) == NULL, "calloc");
    check(omp_aligned_calloc(64, 0, 8, a) == NULL && omp_aligned_calloc(64, 8, 0, a) == NULL,
          "aligned calloc");
  }
  const omp_alloctrait_t abort_fb[] = {{omp_atk_fallback, omp_atv_abort_fb}};
  check(omp_alloc(0, make(here_space, 1, abort_fb)) == NULL, "no failure, no abort");
}

static void size_impossible(void) {
  const omp_uintptr_t handles[] = {1, 2, 3, 4, 5, 6, 7, 8, 500, here_number, 502, 503, 504};
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 47, SIZE_MAX / 2 + 1, (size_t)1 << 60};
  for (size_t h = 0; h < LENGTH(handles); ++h)
    for (size_t s = 0; s < LENGTH(sizes); ++s) {
      const omp_allocator_handle_t a = (omp_allocator_handle_t)handles[h];
      check(omp_alloc(sizes[s], a) == NULL, "%zu bytes of %zu", sizes[s], (size_t)handles[h]);
      check(omp_aligned_alloc(4096, sizes[s], a) == NULL, "aligned %zu", sizes[s]);
      char* block = (char*)omp_alloc(100, a);
      fill(block, 100, 1);
      check(omp_realloc(block, sizes[s], a, a) == NULL && holds(block, 100, 1), "realloc");
      omp_free(block, a);
    }
}

// ---- realloc

// Where there is room the address stays.
static void realloc_in_place(void) {
  char* block = (char*)omp_alloc(300001, here_alloc);
  fill(block, 300001, 1);
  char* same = (char*)omp_realloc(block, 300100, here_alloc, here_alloc);
  check(same == block && holds(same, 300001, 1), "grown within its page");
  same = (char*)omp_realloc(block, 299000, omp_null_allocator, omp_null_allocator);
  check(same == block && holds(same, 299000, 1), "shrunk a little");
  check(placement_of(same).block_bytes == 299000, "its size now: %zu",
        placement_of(same).block_bytes);
  omp_free(same, here_alloc);
  block = (char*)omp_alloc(97, here_alloc);
  fill(block, 97, 2);
  same = (char*)omp_realloc(block, 99, here_alloc, here_alloc);
  check(same == block && holds(same, 97, 2), "small, grown within its class");
  check(placement_of(same).block_bytes == 99, "its size now");
  omp_free(same, here_alloc);
}

// Through all sizes and across all pairs of allocators, ours, the runtime's own and one of each
// made here; every byte that both sizes have stays.
static void realloc_across(void) {
  const omp_alloctrait_t align[] = {{omp_atk_alignment, 64}};
  const omp_alloctrait_t label[] = {{ompx_atk_migratable, omp_atv_true}};
  const omp_allocator_handle_t handles[] = {omp_default_mem_alloc,
                                            here_alloc,
                                            omp_low_lat_mem_alloc,
                                            ompx_auto_mem_alloc,
                                            make(omp_default_mem_space, 1, align),
                                            make(here_space, 1, align),
                                            make(omp_default_mem_space, 1, label)};
  static const size_t sizes[] = {1, 4000, 70000, 600000};
  for (size_t from = 0; from < LENGTH(handles); ++from)
    for (size_t to = 0; to < LENGTH(handles); ++to)
      for (size_t i = 0; i < LENGTH(sizes); ++i)
        for (size_t j = 0; j < LENGTH(sizes); ++j) {
          char* block = (char*)omp_alloc(sizes[i], handles[from]);
          fill(block, sizes[i], 7);
          const size_t both = sizes[i] < sizes[j] ? sizes[i] : sizes[j];
          char* moved = (char*)omp_realloc(block, sizes[j], handles[to], handles[from]);
          check(moved != NULL && holds(moved, both, 7), "%zu to %zu, %zu to %zu bytes", from, to,
                sizes[i], sizes[j]);
          const int ours = to == 1 || to == 2 || to == 3 || to == 5;
          check(is_placed(moved) == ours, "%zu to %zu: wrong owner", from, to);
          omp_free(moved, handles[to]);
        }
}

// The old block's pool gets its bytes back, the new one's is charged.
static void realloc_across_pools(void) {
  const omp_allocator_handle_t a = pool(1000), b = pool(1000);
  char* block = (char*)omp_alloc(1000, a);
  fill(block, 1000, 1);
  char* moved = (char*)omp_realloc(block, 800, b, a);
  check(moved != NULL && holds(moved, 800, 1), "moved");
  char* again = (char*)omp_alloc(1000, a);
  check(again != NULL, "a is empty again");
  check(omp_alloc(201, b) == NULL, "b has 200 left");
  check(omp_realloc(again, 300, b, a) == NULL, "b has no room");
  check(omp_alloc(1, a) == NULL, "the block is still of a");
  omp_free(moved, b);
  moved = (char*)omp_realloc(again, 300, b, a);
  check(moved != NULL && omp_alloc(701, b) == NULL && omp_alloc(700, b) != NULL, "now it has");
}

// No allocator named: the block's own is meant.
static void realloc_null_allocators(void) {
  const omp_allocator_handle_t a = pool(1000);
  omp_set_default_allocator(here_alloc);
  char* block = (char*)omp_alloc(400, a);
  fill(block, 400, 1);
  block = (char*)omp_realloc(block, 1000, omp_null_allocator, omp_null_allocator);
  check(block != NULL && holds(block, 400, 1), "grown");
  check(omp_alloc(1, a) == NULL, "the block is of a");
  check(omp_realloc(block, 1001, omp_null_allocator, a) == NULL, "a has no more");
  block = (char*)omp_realloc(block, 100, omp_null_allocator, a);
  check(block != NULL && holds(block, 100, 1), "shrunk");
  check(omp_alloc(900, a) != NULL && omp_alloc(1, a) == NULL, "counted in a");
  // Of the runtime itself it stays the runtime's, whatever the default allocator.
  char* theirs = (char*)omp_alloc(400, omp_default_mem_alloc);
  fill(theirs, 400, 2);
  theirs = (char*)omp_realloc(theirs, 5000, omp_null_allocator, omp_null_allocator);
  check(theirs != NULL && holds(theirs, 400, 2) && !is_placed(theirs), "of the runtime");
  omp_free(theirs, omp_null_allocator);
  // An allocator of the runtime's own with a pool.
  const omp_allocator_handle_t own = with(omp_default_mem_space, omp_atk_pool_size, 4096);
  theirs = (char*)omp_alloc(1000, own);
  theirs = (char*)omp_realloc(theirs, 2000, omp_null_allocator, omp_null_allocator);
  check(theirs != NULL && omp_alloc(2500, own) == NULL, "2000 of 4096 are in use");
  omp_free(theirs, omp_null_allocator);
  check(omp_alloc(2500, own) != NULL, "given back");
}

static void realloc_null_pointer(void) {
  const omp_uintptr_t handles[] = {0, 1, 2, 5, 6, 500, here_number};
  for (size_t h = 0; h < LENGTH(handles); ++h)
    for (size_t bytes = 1; bytes < 4 * MIB; bytes *= 100) {
      const omp_allocator_handle_t a = (omp_allocator_handle_t)handles[h];
      char* block = (char*)omp_realloc(NULL, bytes, a, omp_null_allocator);
      check(aligned_to(block, 16), "%zu", (size_t)handles[h]);
      fill(block, bytes, 1);
      check(holds(block, bytes, 1), "contents");
      check(is_placed(block) == (handles[h] > 1 && handles[h] != 6), "owner %zu",
            (size_t)handles[h]);
      omp_free(block, a);
      check(omp_realloc(NULL, 0, a, a) == NULL, "nothing of nothing");
    }
}

static void realloc_size_zero(void) {
  const omp_allocator_handle_t a = pool(1000);
  for (int i = 0; i < 10; ++i) {
    char* block = (char*)omp_alloc(1000, a);
    check(block != NULL, "round %d", i);
    check(omp_realloc(block, 0, a, a) == NULL, "size 0");
  }
  check(omp_realloc(omp_alloc(100, omp_default_mem_alloc), 0, omp_default_mem_alloc,
                    omp_default_mem_alloc) == NULL,
        "size 0 of the runtime's");
  check(omp_realloc(omp_alloc(100, here_alloc), 0, omp_null_allocator, omp_null_allocator) == NULL,
        "size 0 without allocators");
}

// ---- free and destroy

static void free_any_handle(void) {
  omp_free(NULL, omp_null_allocator);
  omp_free(NULL, omp_default_mem_alloc);
  omp_free(NULL, ompx_hbm_mem_alloc);
  const omp_allocator_handle_t a = pool(1000), b = pool(1000);
  omp_free(NULL, a);
  const omp_allocator_handle_t wrong[] = {a, b, omp_null_allocator, omp_default_mem_alloc,
                                          ompx_hbm_mem_alloc};
  for (size_t i = 0; i < LENGTH(wrong); ++i) {
    char* block = (char*)omp_alloc(1000, a);
    check(block != NULL, "its own pool got it back, %zu", i);
    omp_free(block, wrong[i]);
  }
  check(omp_alloc(1000, b) != NULL && omp_alloc(1, b) == NULL, "and no other");
}

static void destroy_with_blocks(void) {
  const omp_allocator_handle_t a = pool(3 * MIB);
  char* small = (char*)omp_alloc(100, a);
  char* large = (char*)omp_alloc(2 * MIB, a);
  fill(small, 100, 1), fill(large, 2 * MIB, 2);
  omp_destroy_allocator(a);
  char* others[64];
  for (int i = 0; i < 64; ++i) {
    const omp_allocator_handle_t b = pool(100000);
    check(b != a, "the handle is in use again while blocks live");
    others[i] = (char*)omp_alloc(100000, b);
    fill(others[i], 100000, (unsigned)i);
  }
  check(holds(small, 100, 1) && holds(large, 2 * MIB, 2), "contents");
  large = (char*)omp_realloc(large, 3 * MIB, here_alloc, omp_null_allocator);
  check(large != NULL && holds(large, 2 * MIB, 2), "moved to another allocator");
  omp_free(small, omp_null_allocator);
  omp_free(large, omp_null_allocator);
  for (int i = 0; i < 64; ++i)
    check(holds(others[i], 100000, (unsigned)i), "contents of others");
}

// Left open by the specification: no harm comes of it.
static void destroyed_used(void) {
  const omp_allocator_handle_t a = pool(MIB);
  omp_destroy_allocator(a);
  omp_destroy_allocator(a);
  char* block = (char*)omp_alloc(1000, a);
  check(aligned_to(block, 16), "memory of a destroyed allocator");
  fill(block, 1000, 1);
  block = (char*)omp_realloc(block, 2000, a, a);
  check(block != NULL && holds(block, 1000, 1), "resized");
  char* zeroed = (char*)omp_calloc(1000, 1, a);
  check(zeroed != NULL && all_zero(zeroed, 1000), "calloc");
  omp_free(zeroed, a);
  omp_free(block, a);
  omp_set_default_allocator(a);
  block = (char*)omp_alloc(1000, omp_null_allocator);
  check(block != NULL, "as the default");
  fill(block, 1000, 1);
  omp_free(block, omp_null_allocator);
  omp_set_default_allocator(omp_default_mem_alloc);
}

static void destroy_null_and_predefined(void) {
  omp_destroy_allocator(omp_null_allocator);
  for (omp_uintptr_t number = 1; number <= 504; number = number == 8 ? 500 : number + 1)
    omp_destroy_allocator((omp_allocator_handle_t)number);
  for (omp_uintptr_t number = 1; number <= here_number; number = number == 8 ? 500 : number + 1) {
    char* block = (char*)omp_alloc(1000, (omp_allocator_handle_t)number);
    check(block != NULL, "predefined allocator %zu is gone", (size_t)number);
    omp_free(block, omp_null_allocator);
  }
}

// Numbers that are no allocators: memory all the same, and nothing is taken for a pointer.
static void no_handles(void) {
  static const omp_uintptr_t numbers[] = {9, 99, 499, 505, 777, 1023, 1024};
  for (size_t i = 0; i < LENGTH(numbers); ++i) {
    const omp_allocator_handle_t a = (omp_allocator_handle_t)numbers[i];
    char* block = (char*)omp_alloc(1000, a);
    check(aligned_to(block, 16), "number %zu", (size_t)numbers[i]);
    fill(block, 1000, 1);
    block = (char*)omp_realloc(block, 3000, a, a);
    check(block != NULL && holds(block, 1000, 1), "number %zu", (size_t)numbers[i]);
    omp_free(block, a);
    omp_destroy_allocator(a);
  }
  check(omp_init_allocator(here_space, 3, NULL) == omp_null_allocator, "no traits");
  check(omp_init_allocator(omp_default_mem_space, -1, NULL) == omp_null_allocator,
        "less than none");
  omp_set_default_allocator(here_alloc);
  omp_set_default_allocator(omp_null_allocator);
  char* block = (char*)omp_alloc(1000, omp_null_allocator);
  check(aligned_to(block, 16), "the null allocator as the default");
  omp_free(block, omp_null_allocator);
}

// An alignment argument that is no power of two is not allowed: the next one is taken.
static void alignment_odd(void) {
  const omp_uintptr_t handles[] = {1, 5, 6, here_number};
  static const size_t odd[][2] = {{3, 16}, {24, 32}, {48, 64}, {1000, 1024}, {5000, 8192}};
  for (size_t h = 0; h < LENGTH(handles); ++h) {
    const omp_allocator_handle_t a = (omp_allocator_handle_t)handles[h];
    for (size_t i = 0; i < LENGTH(odd); ++i) {
      char* block = (char*)omp_aligned_alloc(odd[i][0], 1000, a);
      check(aligned_to(block, odd[i][1]), "%zu of %zu: %p", odd[i][0], (size_t)handles[h],
            (void*)block);
      fill(block, 1000, 1);
      check(holds(block, 1000, 1), "contents");
      omp_free(block, a);
    }
    check(omp_aligned_alloc(SIZE_MAX, 1000, a) == NULL, "an impossible one");
    check(omp_aligned_alloc((size_t)1 << 63, 1000, a) == NULL, "another");
  }
}

static void many_allocators(void) {
  enum { k_many = 3000 };
  static omp_allocator_handle_t handles[k_many];
  static char* blocks[k_many];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < k_many; ++i) {
      handles[i] = pool(64);
      blocks[i] = (char*)omp_alloc(64, handles[i]);
      check(blocks[i] != NULL && omp_alloc(1, handles[i]) == NULL, "allocator %d", i);
      fill(blocks[i], 64, (unsigned)i);
    }
    for (int i = 0; i < k_many; ++i) {
      check(holds(blocks[i], 64, (unsigned)i), "block %d", i);
      omp_free(blocks[i], handles[i]);
      omp_destroy_allocator(handles[i]);
    }
  }
}

static const semantics_case cases[] = {
    {"alignment-trait", alignment_trait, k_dram},
    {"alignment-argument", alignment_argument, k_dram},
    {"alignment-both", alignment_both, k_dram},
    {"alignment-none", alignment_none, k_dram},
    {"alignment-realloc", alignment_realloc, k_dram},
    {"pool-bytes", pool_bytes, k_dram},
    {"pool-race", pool_race, k_dram},
    {"pool-realloc", pool_realloc, k_dram},
    {"pool-again", pool_again, k_dram},
    {"pool-fallback", pool_fallback, k_dram},
    {"pool-standard", pool_standard, k_dram},
    {"calloc-zeroed", calloc_zeroed, k_dram},
    {"calloc-overflow", calloc_overflow, k_dram},
    {"size-zero", size_zero, 0},
    {"size-impossible", size_impossible, 0},
    {"realloc-in-place", realloc_in_place, k_dram},
    {"realloc-across", realloc_across, k_dram},
    {"realloc-across-pools", realloc_across_pools, k_dram},
    {"realloc-null-allocators", realloc_null_allocators, k_dram},
    {"realloc-null-pointer", realloc_null_pointer, k_dram},
    {"realloc-size-zero", realloc_size_zero, k_dram},
    {"free-any-handle", free_any_handle, k_dram},
    {"destroy-with-blocks", destroy_with_blocks, k_dram},
    {"destroyed-used", destroyed_used, k_dram},
    {"destroy-null-and-predefined", destroy_null_and_predefined, k_dram},
    {"no-handles", no_handles, k_dram},
    {"alignment-odd", alignment_odd, k_dram},
    {"many-allocators", many_allocators, k_dram}};

int main(int argc, char** argv) {
  return run_cases(cases, LENGTH(cases), argc, argv);
}
