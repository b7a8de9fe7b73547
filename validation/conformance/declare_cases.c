// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declare and commit, update and apply, case by case: declare_cases CASE [kind=node …], as
// allocators_cases. Where blocks are, is asked from the kernel. Exit 0: the case holds.
#define _GNU_SOURCE
#include "allocators_cases.h"

enum { k_mib = 1 << 20 };

static char* declared[8];
static size_t sizes[8];

// A declaration in ompx_auto_mem_space with importance, and up to two traits more.
static void wish(int i, size_t mib, int importance, omp_alloctrait_t more, omp_alloctrait_t again) {
  omp_alloctrait_t traits[] = {{ompx_atk_importance, (omp_uintptr_t)importance}, more, again};
  sizes[i] = mib * k_mib;
  check(ompx_declare(&declared[i], sizes[i], ompx_auto_mem_space, 3, traits) == ompx_success,
        "declaration %d", i);
  check(declared[i] == NULL, "pointer %d is not NULL before the commit", i);
}
static omp_alloctrait_t trait(omp_alloctrait_key_t key, omp_uintptr_t value) {
  return (omp_alloctrait_t){key, value};
}
#define STREAMED trait(ompx_atk_access_pattern, ompx_atv_access_pattern_sequential)
#define SCATTERED trait(ompx_atk_access_pattern, ompx_atv_access_pattern_random)
#define NOTHING trait(ompx_atk_lifetime, omp_atv_default)

static ompx_outcome_t outcome = {.struct_size = sizeof(ompx_outcome_t)};

static void commit(ompx_order_t order, ompx_result_t expected) {
  const ompx_result_t result = ompx_commit(order, &outcome);
  check(result == expected, "commit: %d, expected %d", result, expected);
  check(outcome.as_wished + outcome.next_best + outcome.fallback + outcome.failed ==
            outcome.considered,
        "counts");
}
static void fill(int i) {
  check(declared[i] != NULL, "block %d is NULL", i);
  memset(declared[i], 'a' + i, sizes[i]);
}
static void expect(int i, int kind) {
  const size_t there = bytes_on_kind(declared[i], sizes[i], kind);
  ompx_placement_t where = {.struct_size = sizeof where};
  ompx_get_placement(declared[i], 0, &where);
  check(there == sizes[i], "block %d: %zu of %zu bytes in kind %d (%s)", i, there, sizes[i], kind,
        where.reason);
}
static void intact(int i) {
  for (size_t at = 0; at < sizes[i]; at += 4096)
    check(declared[i][at] == 'a' + i, "block %d: byte %zu", i, at);
}
static void free_all(void) {
  for (int i = 0; i < 8; ++i) {
    omp_free(declared[i], omp_null_allocator);
    declared[i] = NULL;
  }
}

// What holds on every machine.
static void case_basics(void) {
  check(ompx_commit(ompx_order_density, NULL) == ompx_success, "nothing declared");
  wish(0, 4, 100, STREAMED, NOTHING);
  wish(1, 2, 900, SCATTERED, NOTHING);
  wish(2, 1, 1, STREAMED, NOTHING);
  check(ompx_declare(&declared[0], 5, ompx_auto_mem_space, 0, NULL) == ompx_error_invalid_argument,
        "the same pointer again");
  check(ompx_declare(NULL, 5, ompx_auto_mem_space, 0, NULL) == ompx_error_invalid_argument, "NULL");
  check(ompx_declare(&declared[3], 0, ompx_auto_mem_space, 0, NULL) == ompx_error_invalid_argument,
        "no bytes");
  check(ompx_declare(&declared[3], 1, ompx_auto_mem_space, 1, NULL) == ompx_error_invalid_argument,
        "no traits");
  omp_alloctrait_t bad[] = {{ompx_atk_importance, 1001}};
  check(ompx_declare(&declared[3], 1, ompx_auto_mem_space, 1, bad) == ompx_error_bad_traits,
        "importance 1001");
  omp_alloctrait_t required[] = {{ompx_atk_placement, ompx_atv_placement_required}};
  check(ompx_declare(&declared[3], 1, ompx_auto_mem_space, 1, required) == ompx_error_bad_traits,
        "auto and required");
  check(ompx_declare(&declared[3], 1, (omp_memspace_handle_t)77, 0, NULL) == ompx_error_bad_traits,
        "unknown space");
  check(ompx_withdraw(&declared[2]) == ompx_success, "withdraw");
  check(ompx_withdraw(&declared[2]) == ompx_error_not_found, "withdraw twice");
  ompx_outcome_t wrong = {.struct_size = 8};
  check(ompx_commit(ompx_order_density, &wrong) == ompx_error_invalid_argument, "struct_size");
  check(ompx_commit((ompx_order_t)3, NULL) == ompx_error_invalid_argument, "order");
  commit(ompx_order_density, ompx_success);
  check(outcome.considered == 2 && outcome.as_wished == 2, "two blocks");
  check(declared[2] == NULL, "withdrawn, and yet set");
  fill(0), fill(1);
  intact(0), intact(1);

  // The block knows its traits: grows, keeps its bytes, takes new traits.
  declared[0] = omp_realloc(declared[0], 8 * k_mib, omp_null_allocator, omp_null_allocator);
  intact(0);
  sizes[0] = 8 * k_mib;
  omp_alloctrait_t later[] = {{ompx_atk_importance, 5}};
  check(ompx_update_traits(declared[0], 1, later) == ompx_success, "update");
  check(ompx_update_traits(declared[0], 1, bad) == ompx_error_bad_traits, "bad update");
  check(ompx_update_traits(declared[0], 1, required) == ompx_error_fixed_trait, "fixed trait");
  check(ompx_update_traits(declared[0] + 1, 1, later) == ompx_error_not_found, "no block");
  check(ompx_update_traits(malloc(1), 1, later) == ompx_error_not_found, "not ours");
  check(ompx_apply(ompx_order_density, &outcome) <= ompx_incomplete, "apply");
  free_all();

  // A kind that is not there: NULL, as the fallback trait says.
  int lacking = 0;
  while (lacking < 4 && node_of[lacking] >= 0)
    ++lacking;
  if (lacking == 4) return;
  omp_alloctrait_t null_fb[] = {{omp_atk_fallback, omp_atv_null_fb}};
  const omp_memspace_handle_t space = (omp_memspace_handle_t)(501 + lacking);
  check(ompx_declare(&declared[0], 1 << 20, space, 1, null_fb) == ompx_success, "declare");
  check(ompx_declare(&declared[1], 1 << 20, space, 0, NULL) == ompx_success, "declare");
  check(ompx_declare(&declared[2], 1 << 20, omp_default_mem_space, 0, NULL) == ompx_success,
        "declare");
  commit(ompx_order_density, ompx_incomplete);
  check(outcome.failed == 1 && outcome.fallback == 1 && outcome.as_wished == 1, "fallbacks");
  check(declared[0] == NULL && declared[1] != NULL && declared[2] != NULL, "pointers");
  memset(declared[1], 1, 1 << 20);
  memset(declared[2], 1, 1 << 20);
  free_all();
}

// Whoever commits finds his own declarations done.
static void case_threads(void) {
#pragma omp parallel num_threads(4)
  for (int round = 0; round < 50; ++round) {
    char *small = NULL, *large = NULL;
    omp_alloctrait_t traits[] = {{ompx_atk_importance, 10}};
    check(ompx_declare(&small, 100, ompx_auto_mem_space, 1, traits) == ompx_success, "declare");
    check(ompx_declare(&large, 600000, ompx_auto_mem_space, 0, NULL) == ompx_success, "declare");
    check(ompx_commit(ompx_order_density, NULL) <= ompx_incomplete, "commit");
    check(small != NULL && large != NULL, "not set");
    memset(small, round, 100);
    memset(large, round, 600000);
    omp_alloctrait_t hotter[] = {{ompx_atk_importance, (omp_uintptr_t)(10 + round)}};
    check(ompx_update_traits(large, 1, hotter) == ompx_success, "update");
    if (round % 10 == 0) check(ompx_apply(ompx_order_density, NULL) <= ompx_incomplete, "apply");
    check(small[99] == (char)round && large[599999] == (char)round, "bytes");
    omp_free(small, omp_null_allocator);
    omp_free(large, omp_null_allocator);
  }
}

// Blocks of a kind that this machine lacks: another allocator serves them.
static void fall_back(omp_allocator_handle_t other, size_t bytes, int count, void** blocks) {
  omp_alloctrait_t traits[] = {{omp_atk_fallback, omp_atv_allocator_fb},
                               {omp_atk_fb_data, (omp_uintptr_t)other}};
  for (int i = 0; i < count; ++i)
    check(ompx_declare(&blocks[i], bytes, ompx_hbm_mem_space, 2, traits) == ompx_success,
          "declaration %d", i);
  ompx_commit(ompx_order_density, NULL);
}

static void case_fallback(void) {
  enum { k_at_once = 500, k_allocators = 32768 }; // those of all declarations in use
  static void* blocks[k_at_once];
  omp_alloctrait_t traits[] = {{omp_atk_pool_size, 4 * k_mib},
                               {omp_atk_fallback, omp_atv_null_fb}};
  const omp_allocator_handle_t pooled = omp_init_allocator(ompx_dram_mem_space, 2, traits);
  for (int i = 0; i < 10; ++i) { // its pool has room for one
    fall_back(pooled, 3 * k_mib, 1, &blocks[0]);
    check(blocks[0] != NULL, "block %d: the pool has no room", i);
    fall_back(pooled, 3 * k_mib, 1, &blocks[1]);
    check(blocks[1] == NULL, "block %d does not count for the pool", i);
    omp_free(blocks[0], omp_null_allocator);
  }
  // No allocator of a declaration is left, whoever served the block: libomp, one of ours over its
  // memory, one over placed memory.
  omp_alloctrait_t ours[] = {{ompx_atk_importance, 10}};
  const omp_allocator_handle_t others[] = {omp_init_allocator(omp_default_mem_space, 0, NULL),
                                           omp_init_allocator(omp_default_mem_space, 1, ours),
                                           ompx_dram_mem_alloc};
  for (int other = 0; other < 3; ++other)
    for (int done = 0; done <= k_allocators; done += k_at_once) {
      fall_back(others[other], 100, k_at_once, blocks);
      for (int i = 0; i < k_at_once; ++i) {
        check(blocks[i] != NULL, "block %d of allocator %d", done + i, other);
        omp_free(blocks[i], omp_null_allocator);
      }
    }
}

// With OMPTIER_CAPACITY=hbm:64M: gain per byte, importance and order of declaration differ.
static void case_orders(void) {
  need(ompx_kind_hbm);
  static const int in_hbm[3][3] = {{0, 1, 1}, {1, 0, 0}, {1, 0, 0}};
  for (int order = 0; order < 3; ++order) {
    wish(0, 60, 400, STREAMED, NOTHING);
    wish(1, 20, 200, STREAMED, NOTHING);
    wish(2, 40, 300, STREAMED, NOTHING);
    commit((ompx_order_t)order, ompx_incomplete);
    check(outcome.as_wished == (order == 0 ? 2u : 1u), "%zu as wished", outcome.as_wished);
    for (int i = 0; i < 3; ++i) {
      fill(i);
      expect(i, in_hbm[order][i] ? ompx_kind_hbm : ompx_kind_dram);
    }
    free_all();
  }
  // By gain per byte alone the first would shut the other two out.
  wish(0, 34, 170, STREAMED, NOTHING);
  wish(1, 32, 150, STREAMED, NOTHING);
  wish(2, 32, 150, STREAMED, NOTHING);
  commit(ompx_order_density, ompx_incomplete);
  for (int i = 0; i < 3; ++i) {
    fill(i);
    expect(i, i == 0 ? ompx_kind_dram : ompx_kind_hbm);
  }
  free_all();
}

// Latency and bandwidth want different memory; what is cold leaves both free; required comes first.
static void case_traits(void) {
  need(ompx_kind_hbm), need(ompx_kind_nvm);
  wish(0, 8, 300, SCATTERED, NOTHING);
  wish(1, 8, 300, STREAMED, NOTHING);
  wish(2, 8, 0, NOTHING, NOTHING);
  wish(3, 8, 300, STREAMED, trait(ompx_atk_sensitivity, ompx_atv_sensitivity_none));
  wish(4, 50, 900, STREAMED, NOTHING);
  sizes[5] = 40 * k_mib;
  check(ompx_declare(&declared[5], sizes[5], ompx_hbm_mem_space, 0, NULL) == ompx_success,
        "required");
  commit(ompx_order_density, ompx_incomplete);
  static const int kinds[] = {ompx_kind_dram, ompx_kind_hbm,  ompx_kind_nvm,
                              ompx_kind_nvm,  ompx_kind_dram, ompx_kind_hbm};
  for (int i = 0; i < 6; ++i) {
    fill(i);
    expect(i, kinds[i]);
  }
  free_all();
}

// A group that does not fit as a whole leaves the fast memory to another.
static void case_group(void) {
  need(ompx_kind_hbm);
  const omp_alloctrait_t together = trait(ompx_atk_group, ompx_name("together"));
  wish(0, 40, 400, STREAMED, together);
  wish(1, 30, 10, STREAMED, NOTHING);
  wish(2, 40, 400, STREAMED, together);
  commit(ompx_order_density, ompx_incomplete);
  fill(0), fill(1), fill(2);
  expect(0, ompx_kind_dram), expect(1, ompx_kind_hbm), expect(2, ompx_kind_dram);
  free_all();
  wish(0, 30, 10, STREAMED, together);
  wish(1, 30, 300, STREAMED, NOTHING);
  wish(2, 30, 400, STREAMED, together);
  commit(ompx_order_density, ompx_incomplete);
  fill(0), fill(1), fill(2);
  expect(0, ompx_kind_hbm), expect(1, ompx_kind_dram), expect(2, ompx_kind_hbm);
  free_all();
}

// Traits change, blocks follow; what must not move stays.
static void case_apply(void) {
  need(ompx_kind_hbm), need(ompx_kind_nvm);
  wish(0, 40, 500, STREAMED, NOTHING);
  wish(1, 40, 100, STREAMED, NOTHING);
  wish(2, 20, 50, STREAMED, trait(ompx_atk_migratable, omp_atv_false));
  wish(3, 20, 0, NOTHING, NOTHING);
  commit(ompx_order_density, ompx_incomplete);
  for (int i = 0; i < 4; ++i)
    fill(i);
  expect(0, ompx_kind_hbm), expect(1, ompx_kind_dram), expect(2, ompx_kind_hbm);
  expect(3, ompx_kind_nvm);
  check(ompx_apply(ompx_order_density, &outcome) == ompx_incomplete, "apply, nothing changed");
  check(outcome.bytes_moved == 0, "%zu bytes moved although nothing changed", outcome.bytes_moved);

  omp_alloctrait_t hot[] = {{ompx_atk_importance, 500}}, cold[] = {{ompx_atk_importance, 100}};
  check(ompx_update_traits(declared[0], 1, cold) == ompx_success, "update");
  check(ompx_update_traits(declared[1], 1, hot) == ompx_success, "update");
  check(ompx_update_traits(declared[2], 1, cold) == ompx_success, "update");
  expect(0, ompx_kind_hbm);
  check(ompx_apply(ompx_order_density, &outcome) == ompx_incomplete, "apply");
  check(outcome.bytes_moved == 80u * k_mib, "%zu bytes moved", outcome.bytes_moved);
  check(outcome.considered == 3 && outcome.as_wished == 2, "%zu considered, %zu as wished",
        outcome.considered, outcome.as_wished);
  expect(0, ompx_kind_dram), expect(1, ompx_kind_hbm), expect(2, ompx_kind_hbm);
  for (int i = 0; i < 4; ++i)
    intact(i);
  ompx_placement_t where = {.struct_size = sizeof where};
  ompx_get_placement(declared[1], 0, &where);
  check(strcmp(where.reason, "HBM: moved there by ompx_apply") == 0, "reason: %s", where.reason);
  check(ompx_apply(ompx_order_density, &outcome) == ompx_incomplete && outcome.bytes_moved == 0,
        "a second apply moves nothing");

  // Traits of a whole allocator, and of one block that leaves it.
  omp_alloctrait_t traits[] = {{ompx_atk_importance, 0}};
  omp_allocator_handle_t shared = omp_init_allocator(ompx_auto_mem_space, 1, traits);
  omp_free(declared[0], omp_null_allocator);
  omp_free(declared[1], omp_null_allocator);
  omp_free(declared[2], omp_null_allocator);
  sizes[0] = sizes[1] = 20 * k_mib;
  declared[2] = NULL;
  for (int i = 0; i < 2; ++i) {
    declared[i] = omp_alloc(sizes[i], shared);
    fill(i);
    expect(i, ompx_kind_nvm);
  }
  omp_alloctrait_t streamed[] = {{ompx_atk_importance, 100}, STREAMED};
  check(ompx_update_traits(declared[0], 2, streamed) == ompx_success, "update of one");
  check(ompx_apply(ompx_order_density, &outcome) == ompx_success, "apply");
  expect(0, ompx_kind_hbm), expect(1, ompx_kind_nvm);
  check(ompx_update_allocator(shared, 2, streamed) == ompx_success, "update of the allocator");
  check(ompx_update_allocator(ompx_hbm_mem_alloc, 2, streamed) == ompx_error_not_found,
        "predefined");
  check(ompx_apply(ompx_order_density, &outcome) == ompx_success, "apply");
  expect(0, ompx_kind_hbm), expect(1, ompx_kind_hbm);
  intact(0), intact(1);
  free_all();
  omp_destroy_allocator(shared);
}

// HBM and DRAM have room for one of the two blocks each (OMPTIER_CAPACITY), so neither can move
// first.
static void case_exchange(void) {
  need(ompx_kind_hbm);
  wish(0, 40, 500, STREAMED, NOTHING);
  wish(1, 40, 100, STREAMED, NOTHING);
  commit(ompx_order_density, ompx_incomplete);
  fill(0), fill(1);
  expect(0, ompx_kind_hbm), expect(1, ompx_kind_dram);
  omp_alloctrait_t hot[] = {{ompx_atk_importance, 500}}, cold[] = {{ompx_atk_importance, 100}};
  for (int round = 0; round < 2; ++round) {
    check(ompx_update_traits(declared[round], 1, cold) == ompx_success, "update");
    check(ompx_update_traits(declared[1 - round], 1, hot) == ompx_success, "update");
    check(ompx_apply(ompx_order_density, &outcome) == ompx_incomplete, "apply");
    check(outcome.bytes_moved == 80u * k_mib, "%zu bytes moved", outcome.bytes_moved);
    expect(round, ompx_kind_dram), expect(1 - round, ompx_kind_hbm);
    intact(0), intact(1);
  }
  check(ompx_apply(ompx_order_density, &outcome) == ompx_incomplete && outcome.bytes_moved == 0,
        "apply, nothing changed");
  // The kinds hold what they may hold, and no byte more is left counted.
  free_all();
  sizes[0] = sizes[1] = 40 * k_mib;
  declared[0] = omp_alloc(sizes[0], ompx_hbm_mem_alloc);
  declared[1] = omp_alloc(sizes[1], ompx_dram_mem_alloc);
  fill(0), fill(1);
  expect(0, ompx_kind_hbm), expect(1, ompx_kind_dram);
  free_all();
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } cases[] = {{"basics", case_basics}, {"threads", case_threads},  {"fallback", case_fallback},
               {"orders", case_orders}, {"traits", case_traits},    {"group", case_group},
               {"apply", case_apply},   {"exchange", case_exchange}};
  if (argc < 2) return 2;
  read_nodes(argc - 2, argv + 2);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
    if (strcmp(cases[i].name, argv[1]) == 0) {
      cases[i].run();
      printf("%s holds, %d checks\n", argv[1], checks);
      return 0;
    }
  return 2;
}
