// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compilers make of allocators in directives: the allocate clause on parallel, worksharing and
// tasking constructs, the allocate directive for locals and statics, uses_allocators on a target
// region that runs on the host. Values are checked everywhere; where the compiler asks the runtime
// for the memory (clang-19 ignores the clause on tasks, gcc 12 has no directive), the address too.
// (On scope neither compiler takes the clause.)
#include "semantics.h"

enum { k_threads = 4 };

static omp_allocator_handle_t allocator; // not a constant: gcc takes the clause for nothing then

static omp_allocator_handle_t with_alignment(size_t alignment) {
  const omp_alloctrait_t traits[] = {{omp_atk_alignment, alignment}};
  const omp_allocator_handle_t a = make(here_space, 1, traits);
  check(a != omp_null_allocator, "allocator");
  return a;
}

// Live blocks of ours, as ompx_dump lists them.
static int live_blocks(void) {
  const int file = (int)syscall(SYS_memfd_create, "dump", 0);
  check(file >= 0 && ompx_dump(file) == 0, "dump");
  static char text[1 << 16];
  const ssize_t length = pread(file, text, sizeof text - 1, 0);
  text[length > 0 ? length : 0] = '\0';
  close(file);
  return count_of(text, "object 0x");
}

static void clause_private(void) {
  allocator = with_alignment(256);
  int wrong = 0;
  double values[100];
#pragma omp parallel num_threads(k_threads) private(values) allocate(allocator : values)           \
    reduction(+ : wrong)
  {
    for (int i = 0; i < 100; ++i)
      values[i] = omp_get_thread_num() * 1000 + i;
#pragma omp barrier
    for (int i = 0; i < 100; ++i)
      wrong += values[i] != omp_get_thread_num() * 1000 + i;
    wrong += !is_placed(values) || !aligned_to(values, 256);
  }
  check(wrong == 0, "%d wrong", wrong);
  check(live_blocks() == 0, "%d blocks left", live_blocks());
}

static void clause_firstprivate(void) {
  allocator = with_alignment(64);
  int wrong = 0, number = 42;
  double values[100];
  for (int i = 0; i < 100; ++i)
    values[i] = i * 1.5;
#pragma omp parallel num_threads(k_threads) firstprivate(values, number)                           \
    allocate(allocator : values, number) reduction(+ : wrong)
  {
    wrong += number != 42 || !is_placed(&number) || !is_placed(values);
    for (int i = 0; i < 100; ++i)
      wrong += values[i] != i * 1.5;
    number = omp_get_thread_num();
    values[7] = omp_get_thread_num();
#pragma omp barrier
    wrong += number != omp_get_thread_num() || values[7] != omp_get_thread_num();
  }
  check(wrong == 0 && number == 42 && values[7] == 10.5, "%d wrong", wrong);
  check(live_blocks() == 0, "blocks left");
}

#ifndef __clang__
// OpenMP 5.1: the clause with modifiers, which clang-19 does not read.
static void clause_align(void) {
  allocator = with_alignment(8);
  int wrong = 0, number = 5;
#pragma omp parallel num_threads(k_threads) firstprivate(number)                                   \
    allocate(allocator(allocator), align(4096) : number) reduction(+ : wrong)
  wrong += number != 5 || !aligned_to(&number, 4096);
  check(wrong == 0, "%d wrong", wrong);
}
#endif

static void clause_reduction(void) {
  allocator = with_alignment(8);
  long sum = 0;
#pragma omp parallel for num_threads(k_threads) reduction(+ : sum) allocate(allocator : sum)
  for (int i = 1; i <= 1000; ++i)
    sum += i;
  check(sum == 500500, "parallel for: %ld", sum);
  sum = 0;
#pragma omp parallel num_threads(k_threads)
#pragma omp for reduction(+ : sum) allocate(allocator : sum)
  for (int i = 1; i <= 1000; ++i)
    sum += i;
  check(sum == 500500, "for: %ld", sum);
  check(live_blocks() == 0, "blocks left");
}

static void clause_for(void) {
  allocator = with_alignment(128);
  int wrong = 0, last = 0, scratch = 9;
#pragma omp parallel num_threads(k_threads) reduction(+ : wrong)
  {
#pragma omp for private(scratch) lastprivate(last) allocate(allocator : scratch, last)
    for (int i = 0; i < 400; ++i) {
      scratch = i * 3;
      last = i;
      wrong += scratch != i * 3;
      if (i % 100 == 0) wrong += !is_placed(&scratch);
    }
  }
  check(wrong == 0 && last == 399 && scratch == 9, "%d wrong, last %d", wrong, last);
  check(live_blocks() == 0, "blocks left");
}

static void clause_sections(void) {
  allocator = with_alignment(8);
  int seen[2] = {0, 0}, number = 11;
#pragma omp parallel num_threads(2)
#pragma omp sections firstprivate(number) allocate(allocator : number)
  {
#pragma omp section
    seen[0] = number + 1;
#pragma omp section
    seen[1] = number + 2;
  }
  check(seen[0] >= 12 && seen[1] >= 13 && number == 11, "%d %d", seen[0], seen[1]);
}

static void clause_single(void) {
  allocator = with_alignment(8);
  int number = 5, seen = 0;
#pragma omp parallel num_threads(k_threads)
#pragma omp single firstprivate(number) allocate(allocator : number)
  seen = is_placed(&number) * 100 + ++number;
  check(seen == 106 && number == 5, "%d", seen);
}

// The initial thread of each team has its copy.
static void clause_teams(void) {
  allocator = with_alignment(256);
  int wrong = 0, teams = 0, number = 6;
  double values[100];
#pragma omp teams num_teams(2) private(values) firstprivate(number)                                \
    allocate(allocator : values, number) reduction(+ : wrong, teams)
  {
    teams += 1;
    wrong += number++ != 6 || !is_placed(values) || !aligned_to(values, 256);
    for (int i = 0; i < 100; ++i)
      values[i] = omp_get_team_num() * 1000 + i;
    for (int i = 0; i < 100; ++i)
      wrong += values[i] != omp_get_team_num() * 1000 + i;
  }
  check(wrong == 0 && teams >= 1 && number == 6, "%d wrong in %d teams", wrong, teams);
  check(live_blocks() == 0, "%d blocks left", live_blocks());
}

static void clause_distribute(void) {
  allocator = with_alignment(128);
  int wrong = 0, sum = 0, scratch = 9;
#pragma omp teams num_teams(2) reduction(+ : wrong, sum)
#pragma omp distribute firstprivate(scratch) allocate(allocator : scratch)
  for (int i = 0; i < 100; ++i) {
    if (i % 10 == 0) wrong += !is_placed(&scratch) || !aligned_to(&scratch, 128);
    scratch = i;
    sum += scratch;
  }
  check(wrong == 0 && sum == 4950 && scratch == 9, "%d wrong, %d", wrong, sum);
  check(live_blocks() == 0, "blocks left");
}

static void clause_task(void) {
  allocator = with_alignment(8);
  int sum = 0;
#pragma omp parallel num_threads(k_threads)
#pragma omp single
  for (int i = 1; i <= 100; ++i) {
    int number = i;
#pragma omp task firstprivate(number) allocate(allocator : number)
    {
      ++number;
#pragma omp atomic
      sum += number;
    }
    check(number == i, "the task's own");
  }
  check(sum == 5150, "%d", sum);
}

static void clause_taskloop(void) {
  allocator = with_alignment(8);
  int sum = 0, base = 7;
#pragma omp parallel num_threads(k_threads)
#pragma omp single
#pragma omp taskloop firstprivate(base) allocate(allocator : base) grainsize(10)
  for (int i = 0; i < 100; ++i) {
#pragma omp atomic
    sum += base + i;
  }
  check(sum == 5650, "%d", sum);
}

static void clause_taskgroup(void) {
  allocator = with_alignment(8);
  int sum = 0;
#pragma omp parallel num_threads(k_threads)
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum) allocate(allocator : sum)
  for (int i = 1; i <= 100; ++i) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
    sum += i;
  }
  check(sum == 5050, "%d", sum);
}

// Without an allocator named, the default one.
static void clause_default_allocator(void) {
  int wrong = 0, number = 3;
  omp_set_default_allocator(here_alloc);
#pragma omp parallel num_threads(k_threads) firstprivate(number) allocate(number)                  \
    reduction(+ : wrong)
  wrong += number != 3;
  check(wrong == 0, "%d wrong", wrong);
}

static void clause_predefined(void) {
  int wrong = 0, number = 3;
#pragma omp parallel num_threads(k_threads) firstprivate(number)                                   \
    allocate(omp_low_lat_mem_alloc : number) reduction(+ : wrong)
  wrong += number++ != 3;
#pragma omp parallel num_threads(k_threads) firstprivate(number)                                   \
    allocate(omp_thread_mem_alloc : number) reduction(+ : wrong)
  wrong += number++ != 3;
  check(wrong == 0 && number == 3, "%d wrong", wrong);
}

#ifdef __clang__

static int use_locals(omp_allocator_handle_t a, int n) {
  double fixed[64];
  char bytes[3000];
  long number = n;
#pragma omp allocate(fixed, number) allocator(a)
#pragma omp allocate(bytes) allocator(a) align(8192)
  int wrong = !is_placed(fixed) + !is_placed(&number) + !is_placed(bytes);
  wrong += !aligned_to(bytes, 8192);
  for (int i = 0; i < 64; ++i)
    fixed[i] = n + i;
  memset(bytes, n, sizeof bytes);
  number = n * 2;
  if (n > 0) wrong += use_locals(a, n - 1); // each call has its own
  for (int i = 0; i < 64; ++i)
    wrong += fixed[i] != n + i;
  return wrong + (bytes[2999] != n) + (number != n * 2);
}

static void directive_locals(void) {
  const omp_allocator_handle_t a = with_alignment(64);
  check(use_locals(a, 10) == 0, "in one thread");
  check(live_blocks() == 0, "%d blocks left", live_blocks());
  int wrong = 0;
#pragma omp parallel num_threads(k_threads) reduction(+ : wrong)
  wrong += use_locals(a, 5);
  check(wrong == 0, "%d wrong in a team", wrong);
  check(live_blocks() == 0, "blocks left");
}

static int use_predefined_locals(void) {
  int values[100];
  int others[100];
#pragma omp allocate(values) allocator(ompx_dram_mem_alloc) align(1024)
#pragma omp allocate(others) allocator(omp_default_mem_alloc)
  for (int i = 0; i < 100; ++i)
    values[i] = i, others[i] = -i;
  int wrong = !is_placed(values) + !aligned_to(values, 1024) + is_placed(others);
  for (int i = 0; i < 100; ++i)
    wrong += values[i] != i || others[i] != -i;
  return wrong;
}
static void directive_predefined(void) {
  check(use_predefined_locals() == 0, "locals of predefined allocators");
}

// Statics stay where the linker put them; align() holds, and they are what they were.
static int counter = 7;
static double table[50];
#pragma omp allocate(counter, table) allocator(omp_default_mem_alloc)
static int aligned_static[3] = {1, 2, 3};
#pragma omp allocate(aligned_static) allocator(omp_large_cap_mem_alloc) align(512)

static int next_of_static(void) {
  static int calls = 100;
#pragma omp allocate(calls) allocator(omp_const_mem_alloc)
  return ++calls;
}
static void directive_statics(void) {
  check(counter == 7 && table[49] == 0 && aligned_static[2] == 3, "initial values");
  check(aligned_to(aligned_static, 512), "align(512): %p", (void*)aligned_static);
  int wrong = 0;
#pragma omp parallel num_threads(k_threads) reduction(+ : wrong)
  {
#pragma omp atomic
    counter += 1;
    wrong += aligned_static[1] != 2;
  }
  check(counter == 7 + k_threads && wrong == 0, "shared by all threads: %d", counter);
  check(next_of_static() == 101 && next_of_static() == 102, "of a function");
}

static const omp_alloctrait_t aligned_traits[1] = {{omp_atk_alignment, 512}};

static void uses_allocators(void) {
  int result = 0, wrong = 0, number = 4;
  omp_allocator_handle_t of_target = omp_null_allocator;
#pragma omp target uses_allocators(of_target(aligned_traits)) map(tofrom : result, wrong)          \
    firstprivate(number) allocate(of_target : number)
  {
    result = number + 1;
    wrong += number != 4 || !aligned_to(&number, 512);
    int* block = (int*)omp_alloc(1000, of_target);
    wrong += !aligned_to(block, 512);
    if (block != NULL) *block = 17, wrong += *block != 17;
    omp_free(block, of_target);
  }
  check(result == 5 && wrong == 0, "%d, %d wrong", result, wrong);
}

static void uses_predefined(void) {
  int result = 0, number = 4;
#pragma omp target uses_allocators(omp_low_lat_mem_alloc) map(tofrom : result)                     \
    firstprivate(number) allocate(omp_low_lat_mem_alloc : number)
  result = number + 1;
  check(result == 5, "%d", result);
}

// Thousands of times: allocators made and destroyed by the compiler do not run out.
static void uses_allocators_often(void) {
  int sum = 0;
  omp_allocator_handle_t of_target = omp_null_allocator;
  for (int i = 0; i < 3000; ++i) {
    int number = i;
#pragma omp target uses_allocators(of_target(aligned_traits)) map(tofrom : sum)                    \
    firstprivate(number) allocate(of_target : number)
    sum += aligned_to(&number, 512) ? number & 1 : -1000000;
  }
  check(sum == 1500, "%d", sum);
}
#endif

static const semantics_case cases[] = {
    {"clause-private", clause_private, k_dram},
    {"clause-firstprivate", clause_firstprivate, k_dram},
#ifndef __clang__
    {"clause-align", clause_align, k_dram},
#endif
    {"clause-reduction", clause_reduction, k_dram},
    {"clause-for", clause_for, k_dram},
    {"clause-sections", clause_sections, k_dram},
    {"clause-single", clause_single, k_dram},
    {"clause-teams", clause_teams, k_dram},
    {"clause-distribute", clause_distribute, k_dram},
    {"clause-task", clause_task, k_dram},
    {"clause-taskloop", clause_taskloop, k_dram},
    {"clause-taskgroup", clause_taskgroup, k_dram},
    {"clause-default", clause_default_allocator, k_dram},
    {"clause-predefined", clause_predefined, k_dram},
#ifdef __clang__
    {"directive-locals", directive_locals, k_dram},
    {"directive-predefined", directive_predefined, k_dram},
    {"directive-statics", directive_statics, k_dram},
    {"uses-allocators", uses_allocators, k_dram},
    {"uses-predefined", uses_predefined, k_dram},
    {"uses-allocators-often", uses_allocators_often, k_dram},
#endif
};

int main(int argc, char** argv) {
  return run_cases(cases, LENGTH(cases), argc, argv);
}
