// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who allocates: every thread of a team, nested teams, tasks, taskloops, sections, threads that
// OpenMP did not make, constructors, code before the first region; and the default allocator, which
// each task has for itself and teams inherit.
#include "semantics.h"

enum { k_threads = 4 };

// Allocates, writes, checks and frees some blocks; returns what went wrong.
static int churn(omp_allocator_handle_t a, unsigned seed) {
  int wrong = 0;
  char* kept[16] = {NULL};
  size_t sizes[16] = {0};
  for (unsigned i = 0; i < 300; ++i) {
    seed = seed * 1103515245u + 12345u;
    const unsigned at = seed >> 10 & 15;
    if (kept[at] != NULL) {
      wrong += !holds(kept[at], sizes[at], at);
      omp_free(kept[at], i % 2 ? a : omp_null_allocator);
    }
    sizes[at] = 1 + (seed >> 16) % (i % 50 == 0 ? 500000 : 3000);
    kept[at] = (char*)omp_alloc(sizes[at], a);
    wrong += kept[at] == NULL;
    if (kept[at] != NULL) fill(kept[at], sizes[at], at);
  }
  for (unsigned at = 0; at < 16; ++at) {
    wrong += kept[at] != NULL && !holds(kept[at], sizes[at], at);
    omp_free(kept[at], a);
  }
  return wrong;
}

static omp_allocator_handle_t plain(void) {
  const omp_alloctrait_t traits[] = {{omp_atk_alignment, 32}};
  const omp_allocator_handle_t a = make(here_space, 1, traits);
  check(a != omp_null_allocator, "allocator");
  return a;
}

static void every_thread(void) {
  const omp_allocator_handle_t a = plain();
  int wrong = 0, threads = 0;
#pragma omp parallel num_threads(k_threads) reduction(+ : wrong, threads)
  {
    ++threads;
    wrong += churn(a, (unsigned)omp_get_thread_num());
    wrong += churn(omp_default_mem_alloc, (unsigned)omp_get_thread_num() + 10);
  }
  check(threads == k_threads && wrong == 0, "%d wrong in %d threads", wrong, threads);
}

static void nested(void) {
  const omp_allocator_handle_t a = plain();
  int wrong = 0, threads = 0;
  omp_set_max_active_levels(3);
#pragma omp parallel num_threads(2) reduction(+ : wrong, threads)
#pragma omp parallel num_threads(2) reduction(+ : wrong, threads)
#pragma omp parallel num_threads(2) reduction(+ : wrong, threads)
  {
    ++threads;
    wrong += churn(a, (unsigned)omp_get_thread_num() + 7u);
  }
  check(threads == 8 && wrong == 0, "%d wrong in %d threads", wrong, threads);
}

static void tasks(void) {
  const omp_allocator_handle_t a = plain();
  int wrong = 0, done = 0;
#pragma omp parallel num_threads(k_threads)
#pragma omp single
  for (int i = 0; i < 40; ++i) {
    char* block = (char*)omp_alloc(1000, a);
    fill(block, 1000, (unsigned)i);
#pragma omp task firstprivate(block, i)
    { // freed by whichever thread runs it
      const int bad = !holds(block, 1000, (unsigned)i) + churn(a, (unsigned)i);
      omp_free(block, a);
#pragma omp atomic
      wrong += bad;
#pragma omp atomic
      ++done;
    }
  }
  check(done == 40 && wrong == 0, "%d wrong in %d tasks", wrong, done);
}

static void taskloops(void) {
  const omp_allocator_handle_t a = plain();
  static char* blocks[64];
  int wrong = 0;
#pragma omp parallel num_threads(k_threads)
#pragma omp single
  {
#pragma omp taskloop grainsize(4)
    for (int i = 0; i < 64; ++i) {
      blocks[i] = (char*)omp_alloc(5000, a);
      fill(blocks[i], 5000, (unsigned)i);
    }
#pragma omp taskloop grainsize(3)
    for (int i = 0; i < 64; ++i) {
      const int bad = !holds(blocks[i], 5000, (unsigned)i);
      omp_free(blocks[i], a);
#pragma omp atomic
      wrong += bad;
    }
  }
  check(wrong == 0, "%d wrong", wrong);
}

static void sections(void) {
  const omp_allocator_handle_t a = plain();
  char *one = NULL, *two = NULL, *three = NULL;
#pragma omp parallel sections num_threads(3)
  {
#pragma omp section
    fill(one = (char*)omp_alloc(3000, a), 3000, 1);
#pragma omp section
    fill(two = (char*)omp_calloc(30, 100, a), 3000, 2);
#pragma omp section
    fill(three = (char*)omp_aligned_alloc(4096, 400000, a), 400000, 3);
  }
  check(holds(one, 3000, 1) && holds(two, 3000, 2) && holds(three, 400000, 3), "contents");
  check(aligned_to(three, 4096) && is_placed(one) && is_placed(two) && is_placed(three), "where");
  omp_free(one, a), omp_free(two, a), omp_free(three, a);
}

// Threads that OpenMP knows nothing of, before it has started and beside it.
static void* foreign(void* argument) {
  const omp_allocator_handle_t a = *(omp_allocator_handle_t*)argument;
  static _Thread_local int wrong;
  wrong = churn(a, 5) + churn(omp_default_mem_alloc, 6) + churn(omp_null_allocator, 7);
  wrong += omp_get_default_allocator() != omp_default_mem_alloc;
  omp_set_default_allocator(a);
  wrong += omp_get_default_allocator() != a;
  char* block = (char*)omp_alloc(4321, omp_null_allocator);
  wrong += !is_placed(block);
  omp_free(block, omp_null_allocator);
  return wrong == 0 ? argument : NULL;
}
static void foreign_threads(void) {
  omp_allocator_handle_t a = here_alloc; // nothing of OpenMP has run in this process
  pthread_t threads[k_threads];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < k_threads; ++i)
      check(pthread_create(&threads[i], NULL, foreign, &a) == 0, "thread");
    if (round == 1) {
      int wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
      wrong += churn(a, 3);
      check(wrong == 0, "beside them");
    }
    for (int i = 0; i < k_threads; ++i) {
      void* result = NULL;
      check(pthread_join(threads[i], &result) == 0 && result == &a, "thread %d", i);
    }
    a = plain();
  }
}

// Allocated by one thread, resized by another, freed by a third.
static void handed_on(void) {
  const omp_allocator_handle_t a = plain();
  static char* blocks[200];
  int wrong = 0;
#pragma omp parallel num_threads(k_threads) reduction(+ : wrong)
  {
#pragma omp for schedule(static, 1)
    for (int i = 0; i < 200; ++i)
      fill(blocks[i] = (char*)omp_alloc((size_t)i * 700 + 1, a), (size_t)i * 700 + 1, 1);
#pragma omp for schedule(static)
    for (int i = 0; i < 200; ++i) {
      blocks[i] = (char*)omp_realloc(blocks[i], (size_t)i * 1500 + 1, a, a);
      wrong += !holds(blocks[i], (size_t)i * 700 + 1, 1);
    }
#pragma omp for schedule(static, 3)
    for (int i = 0; i < 200; ++i)
      omp_free(blocks[i], omp_null_allocator);
  }
  check(wrong == 0, "%d wrong", wrong);
}

// ---- the default allocator

static void default_round_trip(void) {
  const omp_allocator_handle_t mine = plain();
  const omp_allocator_handle_t handles[] = {omp_default_mem_alloc, omp_large_cap_mem_alloc,
                                            omp_const_mem_alloc,   omp_high_bw_mem_alloc,
                                            omp_low_lat_mem_alloc, omp_cgroup_mem_alloc,
                                            omp_pteam_mem_alloc,   omp_thread_mem_alloc,
                                            ompx_auto_mem_alloc,   here_alloc,
                                            ompx_hbm_mem_alloc,    ompx_nvm_mem_alloc,
                                            ompx_cxl_mem_alloc,    mine};
  check(omp_get_default_allocator() == omp_default_mem_alloc, "at first");
  for (size_t i = 0; i < LENGTH(handles); ++i) {
    omp_set_default_allocator(handles[i]);
    check(omp_get_default_allocator() == handles[i], "allocator %zu", i);
    char* block = (char*)omp_alloc(2000, omp_null_allocator);
    check(aligned_to(block, handles[i] == mine ? 32 : 16), "a block of allocator %zu", i);
    if (handles[i] == mine || handles[i] == here_alloc)
      check(is_placed(block), "the block is not of allocator %zu", i);
    char* zeroed = (char*)omp_calloc(20, 100, omp_null_allocator);
    check(zeroed != NULL && all_zero(zeroed, 2000), "calloc");
    omp_free(zeroed, omp_null_allocator);
    omp_free(block, handles[i]);
  }
}

// A thread's own; a team gets that of the thread that makes it; afterwards each has its own again.
static void default_per_thread(void) {
  const omp_allocator_handle_t mine = plain();
  int wrong = 0;
  omp_set_default_allocator(mine);
#pragma omp parallel num_threads(k_threads) reduction(+ : wrong)
  {
    wrong += omp_get_default_allocator() != mine;
    char* block = (char*)omp_alloc(1000, omp_null_allocator);
    wrong += !is_placed(block) || !aligned_to(block, 32);
    omp_free(block, omp_null_allocator);
#pragma omp barrier
    const omp_allocator_handle_t other =
        omp_get_thread_num() % 2 ? here_alloc : omp_default_mem_alloc;
    omp_set_default_allocator(other);
#pragma omp barrier
    wrong += omp_get_default_allocator() != other;
    block = (char*)omp_alloc(1000, omp_null_allocator);
    wrong += is_placed(block) != (omp_get_thread_num() % 2);
    omp_free(block, omp_null_allocator);
  }
  check(wrong == 0, "%d wrong", wrong);
  omp_set_default_allocator(here_alloc);
  wrong = 0;
#pragma omp parallel num_threads(k_threads) reduction(+ : wrong)
  wrong += omp_get_default_allocator() != here_alloc;
  check(wrong == 0, "%d threads have the default of the region before", wrong);
}

static void default_nested(void) {
  int wrong = 0;
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : wrong)
  {
    const omp_allocator_handle_t mine =
        omp_get_thread_num() == 0 ? here_alloc : omp_low_lat_mem_alloc;
    omp_set_default_allocator(mine);
#pragma omp parallel num_threads(2) reduction(+ : wrong)
    wrong += omp_get_default_allocator() != mine;
  }
  check(wrong == 0, "%d wrong", wrong);
}

// Explicit tasks have that of the implicit task they are bound to.
static void default_in_tasks(void) {
  const omp_allocator_handle_t mine = plain();
  int wrong = 0;
  omp_set_default_allocator(mine);
#pragma omp parallel num_threads(k_threads)
#pragma omp single
  for (int i = 0; i < 40; ++i) {
#pragma omp task
    {
      char* block = (char*)omp_alloc(1000, omp_null_allocator);
      const int bad = omp_get_default_allocator() != mine || !is_placed(block);
      omp_free(block, omp_null_allocator);
#pragma omp atomic
      wrong += bad;
    }
  }
  check(wrong == 0, "%d of 40 tasks have another", wrong);
}

// ---- before anything else

static char* of_constructor;
static __attribute__((constructor)) void before_main(void) {
  const char* wanted = getenv("SEMANTICS_CONSTRUCTOR");
  if (wanted == NULL) return;
  const omp_alloctrait_t traits[] = {{omp_atk_alignment, 4096}};
  const omp_allocator_handle_t a = make(here_space, 1, traits);
  of_constructor = (char*)omp_alloc(100000, a);
  if (of_constructor != NULL) fill(of_constructor, 100000, 4);
}

static void constructor(void) {
  if (getenv("SEMANTICS_CONSTRUCTOR") == NULL) { // once more, with it
    setenv("SEMANTICS_CONSTRUCTOR", "1", 1);
    const pid_t child = fork();
    if (child == 0) {
      char* arguments[8] = {(char*)"semantics_threads", (char*)"constructor"};
      for (int i = 1, count = 2; i < case_arguments && count < 7; ++i)
        if (strchr(case_argument[i], '=') != NULL) arguments[count++] = case_argument[i];
      execv("/proc/self/exe", arguments);
      _exit(9);
    }
    int status = -1;
    check(waitpid(child, &status, 0) == child && status == 0, "status %x", status);
    return;
  }
  check(aligned_to(of_constructor, 4096) && holds(of_constructor, 100000, 4), "its block");
  check(is_placed(of_constructor), "not placed");
  omp_free(of_constructor, omp_null_allocator);
}

static void before_the_first_region(void) {
  char* early = (char*)omp_alloc(100000, here_alloc);
  check(is_placed(early) && aligned_to(early, 16), "the first call of all");
  fill(early, 100000, 1);
  int wrong = 0;
#pragma omp parallel num_threads(k_threads) reduction(+ : wrong)
  wrong += !holds(early, 100000, 1);
  check(wrong == 0, "seen by the team");
  omp_free(early, here_alloc);
}

// Also where the runtime starts in one thread while others are at it already.
static pthread_barrier_t together;
static void* first_call(void* argument) {
  pthread_barrier_wait(&together);
  char* block = (char*)omp_alloc(1000, here_alloc);
  *(char**)argument = block;
  if (block != NULL) fill(block, 1000, 1);
  return NULL;
}
static void first_calls_together(void) {
  enum { k_many = 8 };
  pthread_t threads[k_many];
  char* blocks[k_many] = {NULL};
  pthread_barrier_init(&together, NULL, k_many);
  for (int i = 0; i < k_many; ++i)
    check(pthread_create(&threads[i], NULL, first_call, &blocks[i]) == 0, "thread");
  for (int i = 0; i < k_many; ++i)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < k_many; ++i) {
    check(is_placed(blocks[i]) && holds(blocks[i], 1000, 1), "thread %d", i);
    omp_free(blocks[i], omp_null_allocator);
  }
}

static const semantics_case cases[] = {{"every-thread", every_thread, k_dram},
                                       {"nested", nested, k_dram},
                                       {"tasks", tasks, k_dram},
                                       {"taskloops", taskloops, k_dram},
                                       {"sections", sections, k_dram},
                                       {"foreign-threads", foreign_threads, k_dram},
                                       {"handed-on", handed_on, k_dram},
                                       {"default-round-trip", default_round_trip, k_dram},
                                       {"default-per-thread", default_per_thread, k_dram},
                                       {"default-nested", default_nested, k_dram},
                                       {"default-in-tasks", default_in_tasks, k_dram},
                                       {"constructor", constructor, k_dram},
                                       {"before-the-first-region", before_the_first_region, k_dram},
                                       {"first-calls-together", first_calls_together, k_dram}};

int main(int argc, char** argv) {
  return run_cases(cases, LENGTH(cases), argc, argv);
}
