// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traits: every key with every value in every memory space, what is refused and how that is said,
// every fallback and chains of them.
#include "semantics.h"

static const omp_memspace_handle_t spaces[] = {
    omp_default_mem_space, omp_large_cap_mem_space, omp_const_mem_space, omp_high_bw_mem_space,
    omp_low_lat_mem_space, ompx_auto_mem_space,     ompx_dram_mem_space, ompx_hbm_mem_space,
    ompx_nvm_mem_space,    ompx_cxl_mem_space};

static const omp_alloctrait_t standard[] = {{omp_atk_sync_hint, omp_atv_contended},
                                            {omp_atk_sync_hint, omp_atv_uncontended},
                                            {omp_atk_sync_hint, omp_atv_serialized},
                                            {omp_atk_sync_hint, omp_atv_private},
                                            {omp_atk_alignment, 1},
                                            {omp_atk_alignment, 8},
                                            {omp_atk_alignment, 64},
                                            {omp_atk_alignment, 4096},
                                            {omp_atk_alignment, 1 << 21},
                                            {omp_atk_access, omp_atv_all},
                                            {omp_atk_access, omp_atv_cgroup},
                                            {omp_atk_access, omp_atv_pteam},
                                            {omp_atk_access, omp_atv_thread},
                                            {omp_atk_pool_size, 1},
                                            {omp_atk_pool_size, 1 << 20},
                                            {omp_atk_pool_size, (omp_uintptr_t)1 << 40},
                                            {omp_atk_fallback, omp_atv_default_mem_fb},
                                            {omp_atk_fallback, omp_atv_null_fb},
                                            {omp_atk_fallback, omp_atv_abort_fb},
                                            {omp_atk_fallback, omp_atv_allocator_fb},
                                            {omp_atk_fb_data, omp_default_mem_alloc},
                                            {omp_atk_fb_data, omp_low_lat_mem_alloc},
                                            {omp_atk_pinned, omp_atv_true},
                                            {omp_atk_pinned, omp_atv_false},
                                            {omp_atk_partition, omp_atv_environment},
                                            {omp_atk_partition, omp_atv_nearest},
                                            {omp_atk_partition, omp_atv_blocked},
                                            {omp_atk_partition, omp_atv_interleaved}};

static const omp_alloctrait_key_t standard_keys[] = {
    omp_atk_sync_hint, omp_atk_alignment, omp_atk_access, omp_atk_pool_size,
    omp_atk_fallback,  omp_atk_fb_data,   omp_atk_pinned, omp_atk_partition};

// The kind that a space names; of the others −1.
static int kind_of_space(omp_memspace_handle_t space) {
  const int kind = (int)space - (int)ompx_dram_mem_space;
  return kind >= 0 && kind < 4 ? kind : -1;
}

// One allocator of the trait: blocks of several sizes, aligned, apart, holding what is written.
static void use_allocator(omp_allocator_handle_t a, const omp_alloctrait_t* trait, int space) {
  static const size_t sizes[] = {1, 100, 5000, 600000};
  char* blocks[LENGTH(sizes)];
  for (size_t i = 0; i < LENGTH(sizes); ++i) {
    blocks[i] = (char*)omp_alloc(sizes[i], a);
    if (trait->key == omp_atk_fallback && trait->value != omp_atv_default_mem_fb &&
        trait->value != omp_atv_allocator_fb && blocks[i] == NULL)
      continue;
    check(blocks[i] != NULL, "space %d, trait %d = %zu: no %zu bytes", space, (int)trait->key,
          (size_t)trait->value, sizes[i]);
    const size_t alignment = trait->key == omp_atk_alignment ? trait->value : 1;
    check(aligned_to(blocks[i], alignment < 16 ? 16 : alignment), "space %d: aligned to %zu: %p",
          space, alignment, (void*)blocks[i]);
    fill(blocks[i], sizes[i], (unsigned)i);
    const int kind = kind_of_space(spaces[space]);
    if (kind < 0 || node_of[kind] < 0 || trait->key == omp_atk_pool_size) continue;
    check(bytes_on_kind(blocks[i], sizes[i], kind) == sizes[i],
          "space %d, trait %d = %zu: %zu bytes elsewhere", space, (int)trait->key,
          (size_t)trait->value, sizes[i]);
  }
  for (size_t i = 0; i < LENGTH(sizes); ++i) {
    if (blocks[i] == NULL) continue;
    check(holds(blocks[i], sizes[i], (unsigned)i), "space %d: block %zu overwritten", space, i);
    omp_free(blocks[i], a);
  }
}

static void every_value(void) {
  for (size_t s = 0; s < LENGTH(spaces); ++s)
    for (size_t t = 0; t < LENGTH(standard); ++t) {
      const omp_allocator_handle_t a = make(spaces[s], 1, &standard[t]);
      check(a != omp_null_allocator, "space %zu refuses trait %d = %zu", s, (int)standard[t].key,
            (size_t)standard[t].value);
      if (standard[t].value != omp_atv_abort_fb || spaces[s] == omp_default_mem_space)
        use_allocator(a, &standard[t], (int)s);
      omp_destroy_allocator(a);
    }
}

// Every value again, in every space, beside every fallback: inside its pool the allocator serves,
// beyond it the fallback is taken. (abort_fb: one process an allocator, of two spaces.)
static omp_allocator_handle_t crossed;
static int abort_of_crossed(void) {
  return omp_alloc(300000, crossed) == NULL ? 1 : 2;
}
static void every_value_and_fallback(void) {
  const omp_alloctrait_t exact[] = {{omp_atk_alignment, 1 << 13}};
  const omp_allocator_handle_t other = make(here_space, 1, exact);
  for (size_t s = 0; s < LENGTH(spaces); ++s)
    for (size_t t = 0; t < LENGTH(standard); ++t)
      for (omp_uintptr_t fallback = omp_atv_default_mem_fb; fallback <= omp_atv_allocator_fb;
           ++fallback) {
        const int key = (int)standard[t].key;
        if (key == omp_atk_fallback || key == omp_atk_fb_data || key == omp_atk_pool_size) continue;
        const omp_alloctrait_t traits[] = {standard[t],
                                           {omp_atk_pool_size, 200000 + standard[t].value % 99},
                                           {omp_atk_fallback, fallback},
                                           {omp_atk_fb_data, (omp_uintptr_t)other}};
        const int large = key == omp_atk_alignment && standard[t].value > 4096;
        if (large) continue; // libomp counts the gaps of alignment in its own pools
        const omp_allocator_handle_t a = make(spaces[s], 4, traits);
        check(a != omp_null_allocator, "space %zu, trait %zu, fallback %d", s, t, (int)fallback);
        if (fallback == omp_atv_abort_fb) {
          crossed = a;
          if (spaces[s] == here_space || spaces[s] == omp_low_lat_mem_space) {
            catch_stderr();
            const int status = status_of_child(abort_of_crossed);
            caught_stderr();
            check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "trait %zu: %x", t, status);
          }
        } else {
          char* inside = (char*)omp_alloc(1000, a);
          char* beyond = (char*)omp_alloc(300000, a);
          if (fallback == omp_atv_null_fb)
            check(beyond == NULL, "space %zu, trait %zu: null_fb", s, t);
          else
            check(beyond != NULL && inside != NULL &&
                      is_placed(beyond) == (fallback == omp_atv_allocator_fb),
                  "space %zu, trait %zu: fallback %d", s, t, (int)fallback);
          if (fallback == omp_atv_allocator_fb)
            check(aligned_to(beyond, 1 << 13), "of the other allocator");
          if (inside != NULL) fill(inside, 1000, 1), check(holds(inside, 1000, 1), "contents");
          if (beyond != NULL) fill(beyond, 300000, 2), check(holds(beyond, 300000, 2), "contents");
          // The kernel's word for both: of the space's kind, of the other allocator's.
          const int kind = kind_of_space(spaces[s]);
          if (kind >= 0 && node_of[kind] >= 0)
            check(bytes_on_kind(inside, 1000, kind) == 1000, "space %zu, trait %zu: elsewhere", s,
                  t);
          if (fallback == omp_atv_allocator_fb)
            check(bytes_on_kind(beyond, 300000, here_kind) == 300000,
                  "space %zu, trait %zu: the other allocator's is elsewhere", s, t);
          omp_free(inside, a);
          omp_free(beyond, a);
        }
        omp_destroy_allocator(a);
      }
}

// omp_atv_default for a key is as if the key were not there.
static void default_values(void) {
  for (size_t s = 0; s < LENGTH(spaces); ++s)
    for (size_t k = 0; k < LENGTH(standard_keys); ++k) {
      const omp_alloctrait_t trait = {standard_keys[k], omp_atv_default};
      const omp_allocator_handle_t a = make(spaces[s], 1, &trait);
      check(a != omp_null_allocator, "space %zu refuses the default of key %zu", s, k);
      const omp_alloctrait_t none = {omp_atk_alignment, 1};
      use_allocator(a, &none, (int)s);
      omp_destroy_allocator(a);
    }
}

static void every_extended_value(void) {
  static const struct {
    int key;
    omp_uintptr_t first, last;
  } rows[] = {{5000, 5100, 5104}, {5002, 5140, 5144}, {5003, 0, 3},
              {5004, 5180, 5181}, {5005, 998, 1000},  {5006, 5220, 5223},
              {5007, 5241, 5241}, {5008, 5260, 5262}, {5011, 0, 1}};
  for (size_t s = 0; s < LENGTH(spaces); ++s)
    for (size_t r = 0; r < LENGTH(rows); ++r)
      for (omp_uintptr_t value = rows[r].first; value <= rows[r].last; ++value) {
        const omp_alloctrait_t trait = {(omp_alloctrait_key_t)rows[r].key, value};
        const omp_allocator_handle_t a = make(spaces[s], 1, &trait);
        check(a != omp_null_allocator, "space %zu refuses %d = %zu", s, rows[r].key, (size_t)value);
        char* block = (char*)omp_alloc(1000, a);
        check(aligned_to(block, 16), "space %zu, %d = %zu", s, rows[r].key, (size_t)value);
        fill(block, 1000, 1);
        check(holds(block, 1000, 1), "contents");
        omp_free(block, a);
        omp_destroy_allocator(a);
      }
}

// Each gives the null allocator and one warning that names key and value.
static void bad_values(void) {
  static const struct {
    int key;
    omp_uintptr_t value;
    const char *name, *shown;
  } rows[] = {{omp_atk_sync_hint, 99, "sync_hint", "99"},
              {omp_atk_alignment, 0, "alignment", "0"},
              {omp_atk_alignment, 48, "alignment", "48"},
              {omp_atk_access, omp_atv_contended, "access", "3"},
              {omp_atk_pool_size, 0, "pool_size", "0"},
              {omp_atk_fallback, 7, "fallback", "7"},
              {omp_atk_fb_data, 0, "fb_data", "0"},
              {omp_atk_fb_data, 77, "fb_data", "77"},
              {omp_atk_pinned, 2, "pinned", "2"},
              {omp_atk_partition, omp_atv_null_fb, "partition", "12"},
              {5000, 5140, "access_pattern", "5140"},
              {5005, 1001, "importance", "1001"},
              {5010, 12345, "label", "12345"}};
  for (size_t s = 0; s < LENGTH(spaces); ++s)
    for (size_t r = 0; r < LENGTH(rows); ++r) {
      const omp_alloctrait_t trait = {(omp_alloctrait_key_t)rows[r].key, rows[r].value};
      catch_stderr();
      const omp_allocator_handle_t a = make(spaces[s], 1, &trait);
      const char* said = caught_stderr();
      check(a == omp_null_allocator, "space %zu takes %s = %s", s, rows[r].name, rows[r].shown);
      check(count_of(said, "Warning") == 1 && strstr(said, rows[r].name) != NULL &&
                strstr(said, rows[r].shown) != NULL,
            "said of %s = %s: %s", rows[r].name, rows[r].shown, said);
    }
}

static void unknown_key(void) {
  for (size_t s = 0; s < LENGTH(spaces); ++s) {
    const omp_alloctrait_t trait = {(omp_alloctrait_key_t)777, 1};
    catch_stderr();
    const omp_allocator_handle_t a = make(spaces[s], 1, &trait);
    const char* said = caught_stderr();
    check(a == omp_null_allocator && strstr(said, "777") != NULL, "space %zu: %s", s, said);
  }
}

static void unknown_space(void) {
  static const omp_uintptr_t numbers[] = {5, 98, 103, 499, 505, 1023, 1025, 1u << 20};
  for (size_t i = 0; i < LENGTH(numbers); ++i)
    check(make((omp_memspace_handle_t)numbers[i], 0, NULL) == omp_null_allocator, "space %zu",
          (size_t)numbers[i]);
}

// Those of omp.h of LLVM 19, and of LLVM 20 and newer: a library or program compiled with either runs on
// each runtime.
static void both_numbers(void) {
  static const omp_uintptr_t default_spaces[] = {0, 99}, everybody[] = {7, 19, 22};
  for (size_t s = 0; s < LENGTH(default_spaces); ++s)
    for (size_t e = 0; e < LENGTH(everybody); ++e) {
      const omp_alloctrait_t traits[] = {{omp_atk_access, everybody[e]},
                                         {omp_atk_pool_size, 1 << 20},
                                         {omp_atk_fallback, omp_atv_null_fb},
                                         {(omp_alloctrait_key_t)14 /* part_size */, 4096}};
      const omp_memspace_handle_t space = (omp_memspace_handle_t)default_spaces[s];
      for (int count = 1; count <= 4; ++count) { // libomp's own, with a pool, ours
        const omp_allocator_handle_t a = make(space, count, traits);
        void* block = omp_alloc(1000, a);
        check(a != omp_null_allocator && block != NULL, "space %zu, access %zu, %d traits",
              (size_t)space, (size_t)everybody[e], count);
        if (count >= 3)
          check(omp_alloc(2 << 20, a) == NULL, "a pool beyond its size, %d traits", count);
        omp_free(block, a);
        omp_destroy_allocator(a);
      }
    }
}

static void contradictions(void) {
  const omp_alloctrait_t required[] = {{ompx_atk_placement, ompx_atv_placement_required}};
  check(make(ompx_auto_mem_space, 1, required) == omp_null_allocator, "auto and required");
  const omp_alloctrait_t moved[] = {{omp_atk_pinned, omp_atv_true},
                                    {ompx_atk_migratable, omp_atv_true}};
  const omp_alloctrait_t stride[] = {{ompx_atk_access_stride, 64}};
  const omp_alloctrait_t strided[] = {{ompx_atk_access_stride, 64},
                                      {ompx_atk_access_pattern, ompx_atv_access_pattern_strided}};
  for (size_t s = 0; s < LENGTH(spaces); ++s) {
    check(make(spaces[s], 2, moved) == omp_null_allocator, "pinned and migratable");
    check(make(spaces[s], 1, stride) == omp_null_allocator, "a stride of nothing strided");
    check(make(spaces[s], 2, strided) != omp_null_allocator, "a stride");
    if (spaces[s] != ompx_auto_mem_space)
      check(make(spaces[s], 1, required) != omp_null_allocator, "required in space %zu", s);
  }
}

static void last_counts(void) {
  const omp_alloctrait_t traits[] = {{omp_atk_alignment, 64},
                                     {omp_atk_alignment, 1 << 16},
                                     {omp_atk_fallback, omp_atv_abort_fb},
                                     {omp_atk_fallback, omp_atv_null_fb},
                                     {omp_atk_pool_size, 1},
                                     {omp_atk_pool_size, 1 << 20}};
  for (size_t s = 0; s < 2; ++s) {
    const omp_allocator_handle_t a = make(s == 0 ? here_space : omp_default_mem_space, 6, traits);
    char* block = (char*)omp_alloc(1000, a);
    check(aligned_to(block, 1 << 16), "the last alignment: %p", (void*)block);
    check(omp_alloc(2 << 20, a) == NULL, "the last fallback");
    omp_free(block, a);
    omp_destroy_allocator(a);
  }
}

// More than there is room for: said, and room again once they are destroyed.
static void used_up(void) {
  enum { k_more_than_all = 40000 };
  static omp_allocator_handle_t all[k_more_than_all];
  int made = 0;
  catch_stderr();
  while (made < k_more_than_all &&
         (all[made] = make(here_space, 0, NULL)) != omp_null_allocator)
    ++made;
  const char* said = caught_stderr();
  check(made > 30000 && made < k_more_than_all && count_of(said, "Warning") == 1 &&
            strstr(said, "no room for another allocator") != NULL,
        "%d allocators, said: %s", made, said);
  while (made > 0)
    omp_destroy_allocator(all[--made]);
  const omp_allocator_handle_t a = make(here_space, 0, NULL);
  check(a != omp_null_allocator, "no room after all were destroyed");
  omp_destroy_allocator(a);
}

// The default space without traits always gives an allocator.
static void plain_default(void) {
  const omp_allocator_handle_t a = make(omp_default_mem_space, 0, NULL);
  check(a != omp_null_allocator, "refused");
  char* block = (char*)omp_alloc(1000, a);
  check(aligned_to(block, 16), "%p", (void*)block);
  fill(block, 1000, 3);
  check(holds(block, 1000, 3), "contents");
  omp_free(block, a);
  omp_destroy_allocator(a);
}

// Each serves, without a word on stderr, and what it gives can be freed with and without it.
static void predefined(void) {
  const omp_uintptr_t handles[] = {1, 2, 3, 4, 5, 6, 7, 8, 500, here_number};
  catch_stderr();
  for (size_t i = 0; i < LENGTH(handles); ++i)
    for (size_t bytes = 1; bytes < 4 * MIB; bytes *= 7) {
      const omp_allocator_handle_t a = (omp_allocator_handle_t)handles[i];
      char* one = (char*)omp_alloc(bytes, a);
      char* two = (char*)omp_aligned_alloc(256, bytes, a);
      char* three = (char*)omp_calloc(bytes, 1, a);
      check(aligned_to(one, 16) && aligned_to(two, 256) && aligned_to(three, 16), "allocator %zu",
            (size_t)handles[i]);
      check(all_zero(three, bytes), "calloc");
      fill(one, bytes, 1);
      fill(two, bytes, 2);
      fill(three, bytes, 3);
      check(holds(one, bytes, 1) && holds(two, bytes, 2) && holds(three, bytes, 3), "contents");
      omp_free(one, a);
      omp_free(two, omp_null_allocator);
      omp_free(three, a);
    }
  const char* said = caught_stderr();
  check(said[0] == '\0', "said: %s", said);
}

// ---- fallbacks

static omp_allocator_handle_t pooled(omp_memspace_handle_t space, size_t pool,
                                     omp_uintptr_t fallback, omp_allocator_handle_t data) {
  const omp_alloctrait_t traits[] = {{omp_atk_pool_size, pool},
                                     {omp_atk_fallback, fallback},
                                     {omp_atk_alignment, 128},
                                     {omp_atk_fb_data, (omp_uintptr_t)data}};
  return make(space, data != omp_null_allocator ? 4 : 3, traits);
}

static void fallback_default(void) {
  for (size_t s = 0; s < LENGTH(spaces); ++s) {
    const omp_allocator_handle_t a =
        pooled(spaces[s], 4096, omp_atv_default_mem_fb, omp_null_allocator);
    for (int i = 0; i < 10; ++i) {
      char* block = (char*)omp_alloc(3000, a);
      check(aligned_to(block, 16), "space %zu: block %d", s, i);
      fill(block, 3000, (unsigned)i);
      check(holds(block, 3000, (unsigned)i), "contents");
      if (i > 0) check(!is_placed(block), "space %zu: block %d is not of the fallback", s, i);
      if (i > 0) omp_free(block, a);
    }
  }
}

static void fallback_null(void) {
  for (size_t s = 0; s < LENGTH(spaces); ++s) {
    const omp_allocator_handle_t a = pooled(spaces[s], 4096, omp_atv_null_fb, omp_null_allocator);
    check(a != omp_null_allocator, "space %zu", s);
    check(omp_alloc(4097, a) == NULL, "space %zu: beyond its pool", s);
    check(omp_calloc(4097, 1, a) == NULL && omp_aligned_alloc(64, 4097, a) == NULL, "siblings");
    check(omp_alloc((size_t)1 << 60, a) == NULL, "space %zu: 2^60 bytes", s);
  }
}

static omp_memspace_handle_t abort_space;
static int abort_now(void) {
  const omp_allocator_handle_t a = pooled(abort_space, 4096, omp_atv_abort_fb, omp_null_allocator);
  void* block = omp_alloc(1 << 20, a);
  return block == NULL ? 1 : 2;
}
static void fallback_abort(void) {
  for (size_t s = 0; s < LENGTH(spaces); ++s) {
    abort_space = spaces[s];
    catch_stderr();
    const int status = status_of_child(abort_now);
    const char* said = caught_stderr();
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "space %zu: status %x", s, status);
    check(said[0] != '\0', "space %zu: it is not said why", s);
  }
}

// a asks b asks c; each pool takes what it can.
static void fallback_chain(void) {
  for (size_t s = 0; s < LENGTH(spaces); ++s) {
    const omp_allocator_handle_t c = pooled(here_space, 30000, omp_atv_null_fb, omp_null_allocator);
    const omp_allocator_handle_t b = pooled(omp_default_mem_space, 20000, omp_atv_allocator_fb, c);
    const omp_allocator_handle_t a = pooled(spaces[s], 100, omp_atv_allocator_fb, b);
    check(a != omp_null_allocator && b != omp_null_allocator, "space %zu", s);
    char *of_b = NULL, *of_c[2] = {NULL, NULL};
    check((of_b = (char*)omp_alloc(15000, a)) != NULL && !is_placed(of_b), "from b");
    for (int i = 0; i < 2; ++i)
      check((of_c[i] = (char*)omp_alloc(15000 - 40, a)) != NULL && is_placed(of_c[i]), "from c");
    check(omp_alloc(15000, a) == NULL, "all are full");
    omp_free(of_c[0], a); // the pool that gave it gets it back
    char* again = (char*)omp_alloc(15000 - 40, a);
    check(again != NULL && is_placed(again), "from c again");
    check(omp_alloc(15000, c) == NULL, "c is full");
    omp_free(of_b, omp_null_allocator);
    check((of_b = (char*)omp_alloc(15000, b)) != NULL, "b has room again");
    fill(of_b, 15000, 1), fill(again, 14960, 2), fill(of_c[1], 14960, 3);
    check(holds(of_b, 15000, 1) && holds(again, 14960, 2) && holds(of_c[1], 14960, 3), "contents");
  }
}

// Every predefined allocator as a fallback.
static void fallback_predefined(void) {
  static const omp_uintptr_t handles[] = {1, 2, 3, 4, 5, 6, 7, 8, 500, 501, 502, 503, 504};
  for (size_t i = 0; i < LENGTH(handles); ++i)
    for (size_t s = 0; s < LENGTH(spaces); ++s) {
      const omp_allocator_handle_t a =
          pooled(spaces[s], 64, omp_atv_allocator_fb, (omp_allocator_handle_t)handles[i]);
      char* block = (char*)omp_alloc(5000, a);
      check(aligned_to(block, 16), "space %zu, fallback %zu", s, (size_t)handles[i]);
      fill(block, 5000, 1);
      check(holds(block, 5000, 1), "contents");
      omp_free(block, a);
      omp_destroy_allocator(a);
    }
}

// allocator_fb without fb_data: the default memory.
static void fallback_without_data(void) {
  for (size_t s = 0; s < LENGTH(spaces); ++s) {
    const omp_allocator_handle_t a =
        pooled(spaces[s], 64, omp_atv_allocator_fb, omp_null_allocator);
    char* block = (char*)omp_alloc(5000, a);
    check(block != NULL && !is_placed(block), "space %zu", s);
    omp_free(block, a);
  }
}

// A handle used again closes a ring: the one that closes it is refused.
static void fallback_cycle(void) {
  const omp_allocator_handle_t b = pooled(here_space, 4096, omp_atv_null_fb, omp_null_allocator);
  const omp_allocator_handle_t a = pooled(here_space, 4096, omp_atv_allocator_fb, b);
  omp_destroy_allocator(b);
  catch_stderr();
  const omp_allocator_handle_t again = pooled(here_space, 4096, omp_atv_allocator_fb, a);
  const char* said = caught_stderr();
  check(again == omp_null_allocator, "a ring of two");
  check(count_of(said, "Warning") == 1 && strstr(said, "fb_data") != NULL, "said: %s", said);
  // Of itself, by the handle it is about to get.
  const omp_allocator_handle_t next = pooled(here_space, 4096, omp_atv_null_fb, omp_null_allocator);
  omp_destroy_allocator(next);
  check(pooled(here_space, 64, omp_atv_allocator_fb, next) == omp_null_allocator,
        "falls back on an allocator that is not there");
  // What falls back on a destroyed allocator gets default memory.
  char* block = (char*)omp_alloc(8192, a);
  check(block != NULL && !is_placed(block), "the fallback was destroyed");
  omp_free(block, a);
}

// A long chain that is no ring ends in the default memory or where there is room.
static void fallback_long_chain(void) {
  omp_allocator_handle_t a = pooled(here_space, MIB, omp_atv_null_fb, omp_null_allocator);
  for (int i = 0; i < 12; ++i)
    a = pooled(here_space, 64, omp_atv_allocator_fb, a);
  char* block = (char*)omp_alloc(5000, a);
  check(block != NULL && is_placed(block), "the twelfth has room");
  for (int i = 0; i < 100; ++i)
    a = pooled(here_space, 64, omp_atv_allocator_fb, a);
  char* other = (char*)omp_alloc(5000, a);
  check(other != NULL, "a chain of a hundred");
  fill(other, 5000, 1);
  check(holds(other, 5000, 1), "contents");
  omp_free(other, a);
  omp_free(block, a);
}

static const semantics_case cases[] = {
    {"every-value", every_value, 0},
    {"every-value-and-fallback", every_value_and_fallback, k_dram},
    {"default-values", default_values, 0},
    {"every-extended-value", every_extended_value, 0},
    {"bad-values", bad_values, 0},
    {"unknown-key", unknown_key, 0},
    {"unknown-space", unknown_space, 0},
    {"both-numbers", both_numbers, 0},
    {"contradictions", contradictions, 0},
    {"last-counts", last_counts, k_dram},
    {"plain-default", plain_default, 0},
    {"used-up", used_up, k_dram},
    {"predefined", predefined, k_dram},
    {"fallback-default", fallback_default, 0},
    {"fallback-null", fallback_null, 0},
    {"fallback-abort", fallback_abort, 0},
    {"fallback-chain", fallback_chain, k_dram},
    {"fallback-predefined", fallback_predefined, 0},
    {"fallback-without-data", fallback_without_data, 0},
    {"fallback-cycle", fallback_cycle, k_dram},
    {"fallback-long-chain", fallback_long_chain, k_dram}};

int main(int argc, char** argv) {
  return run_cases(cases, LENGTH(cases), argc, argv);
}
