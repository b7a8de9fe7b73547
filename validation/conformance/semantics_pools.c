// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whose bytes a pool counts, for each value of the access trait.
#include "semantics.h"

enum { k_threads = 4 };

static omp_allocator_handle_t pool_of_access(omp_memspace_handle_t space, omp_uintptr_t access) {
  const omp_alloctrait_t traits[] = {
      {omp_atk_access, access}, {omp_atk_pool_size, 10000}, {omp_atk_fallback, omp_atv_null_fb}};
  return make(space, 3, traits);
}

// How many of the threads of one team get 6000 of 10000 bytes at the same time.
static int served_together(omp_allocator_handle_t a) {
  int served = 0;
#pragma omp parallel num_threads(k_threads) reduction(+ : served)
  {
    char* block = (char*)omp_alloc(6000, a);
    if (block != NULL) fill(block, 6000, 1);
    served += block != NULL;
#pragma omp barrier
    if (block != NULL && !holds(block, 6000, 1)) served += 100;
    omp_free(block, a);
  }
  return served;
}

static void access_pool(void) {
  const omp_memspace_handle_t two[] = {here_space, omp_default_mem_space};
  for (size_t s = 0; s < 2; ++s) {
    const omp_allocator_handle_t all = pool_of_access(two[s], omp_atv_all);
    const omp_allocator_handle_t group = pool_of_access(two[s], omp_atv_cgroup);
    const omp_allocator_handle_t team = pool_of_access(two[s], omp_atv_pteam);
    const omp_allocator_handle_t thread = pool_of_access(two[s], omp_atv_thread);
    for (int round = 0; round < 3; ++round) {
      check(served_together(all) == 1, "all: one pool");
      check(served_together(group) == 1, "cgroup: one pool in a contention group");
      check(served_together(team) == 1, "pteam: one pool a team");
      check(served_together(thread) == k_threads, "thread: one pool a thread");
    }
    // Two teams side by side have a pool each.
    int served = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : served)
    {
      int mine = 0;
#pragma omp parallel num_threads(2) reduction(+ : mine)
      {
        char* block = (char*)omp_alloc(6000, team);
        mine += block != NULL;
#pragma omp barrier
        omp_free(block, team);
      }
      served += mine == 1;
    }
    check(served == 2, "pteam: %d of two nested teams got one block", served);
  }
}

// The teams of a league are contention groups of their own.
static int served_in_league(omp_allocator_handle_t a) {
  int served = 0, teams = 0;
#pragma omp teams num_teams(2) thread_limit(2) reduction(+ : served, teams)
  {
    int mine = 0;
#pragma omp parallel num_threads(2) reduction(+ : mine)
    {
      char* block = (char*)omp_alloc(6000, a);
      mine += block != NULL;
#pragma omp barrier
      omp_free(block, a);
    }
    served += mine;
    teams += omp_get_num_teams() == 2;
  }
  check(teams == 2, "%d teams", teams);
  return served;
}
static void access_pool_league(void) {
  for (int round = 0; round < 3; ++round) {
    const omp_allocator_handle_t group = pool_of_access(here_space, omp_atv_cgroup);
    const int served = served_in_league(group);
    check(served == 2, "cgroup: %d of four threads in two teams got a block", served);
    omp_destroy_allocator(group);
  }
}

// Freed by another thread than the one that allocated (which access=thread leaves open): the sum
// stays right.
static void access_pool_freed_elsewhere(void) {
  const omp_allocator_handle_t a = pool_of_access(here_space, omp_atv_thread);
  for (int round = 0; round < 50; ++round) {
    char* blocks[k_threads] = {NULL};
#pragma omp parallel num_threads(k_threads)
    blocks[omp_get_thread_num()] = (char*)omp_alloc(6000, a);
    for (int i = 0; i < k_threads; ++i) {
      check(blocks[i] != NULL, "round %d: thread %d got nothing", round, i);
      omp_free(blocks[i], a);
    }
  }
}

static const semantics_case cases[] = {
    {"access-pool", access_pool, k_dram},
    {"access-pool-league", access_pool_league, k_dram},
    {"access-pool-freed-elsewhere", access_pool_freed_elsewhere, k_dram}};

int main(int argc, char** argv) {
  return run_cases(cases, LENGTH(cases), argc, argv);
}
