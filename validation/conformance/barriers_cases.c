// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One parallel region whose threads sweep over two arrays in turn, with a barrier behind each
// sweep, under a plan that wants each array in HBM while it is swept, and has room there for one
// (barriers.plan). Tasks run while threads wait at the barriers, and a thread outside of the team
// touches both arrays all the time. At the end every value must be right. Prints in how many sweeps
// the array lay in HBM. A sweep over an array that does not takes so many milliseconds longer (20)
// that moving it pays.
//
// barriers_cases ROUNDS [MILLISECONDS]     barriers_cases keep FILE: copies the plan that it was started with
#include <omp.h>
#include <ompx_memory.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { threads = 3, pages = 2048, page_bytes = 4096, tasks = 16 };

typedef struct {
  atomic_ulong touched; // by the thread outside
  atomic_ulong tasked;  // by tasks
  unsigned long swept[page_bytes / sizeof(unsigned long) - 2];
} page_t;

// Threads of the team that are at work. A runtime on made-up nodes counts the pages that it moves
// meanwhile (barriers_runtime.cpp): there must be none.
__attribute__((visibility("default"))) atomic_int working;
__attribute__((visibility("default"))) atomic_ulong moved_while_working;

static page_t *first, *second;
static atomic_bool over;
static useconds_t slow_microseconds = 20000;
static unsigned long touches; // of each page
// Written behind barriers, so that no function ends with a jump to one; and no two are alike.
static atomic_int array_at_work;

__attribute__((noinline)) static page_t* make_first(void) {
  page_t* made = omp_alloc(sizeof(page_t) * pages, omp_default_mem_alloc);
  memset(made, 0, sizeof(page_t) * pages);
  return made;
}

__attribute__((noinline)) static page_t* make_second(void) {
  page_t* made = omp_alloc(sizeof(page_t) * pages, omp_default_mem_alloc);
  atomic_store(&array_at_work, 2);
  memset(made, 0, sizeof(page_t) * pages);
  return made;
}

static void* touch(void* unused) {
  while (!atomic_load(&over)) {
    for (int page = 0; page < pages; ++page) {
      atomic_fetch_add(&first[page].touched, 1);
      atomic_fetch_add(&second[page].touched, 1);
    }
    ++touches;
  }
  return unused;
}

static void sweep_page(page_t* page) {
  atomic_fetch_add(&working, 1);
  for (unsigned word = 0; word < sizeof page->swept / sizeof *page->swept; ++word)
    page->swept[word] += word;
  atomic_fetch_sub(&working, 1);
}

static void run_task(page_t* array, int task) {
  atomic_fetch_add(&working, 1);
  for (int page = task; page < pages; page += tasks)
    atomic_fetch_add(&array[page].tasked, 1);
  atomic_fetch_sub(&working, 1);
}

static void look(page_t* array, int* in_place) {
  ompx_placement_t where = {.struct_size = sizeof where};
  if (ompx_get_placement(array, sizeof(page_t) * pages, &where) != 0) return;
  if (where.bytes[ompx_kind_hbm] == sizeof(page_t) * pages)
    ++*in_place;
  else
    usleep(slow_microseconds);
}

static void make_tasks(page_t* array) {
  for (int task = 0; task < tasks; ++task) {
#pragma omp task firstprivate(task)
    run_task(array, task);
  }
}

// The barrier behind the loop is this function's only one, and that of sweep_second its own.
__attribute__((noinline)) static void sweep_first(int* in_place) {
#pragma omp master
  {
    look(first, in_place);
    make_tasks(second);
  }
#pragma omp for schedule(static)
  for (int page = 0; page < pages; ++page)
    sweep_page(&first[page]);
  atomic_store(&array_at_work, 1);
}

__attribute__((noinline)) static void sweep_second(int* in_place) {
#pragma omp master
  {
    look(second, in_place);
    make_tasks(first);
  }
#pragma omp for schedule(static)
  for (int page = 0; page < pages; ++page)
    sweep_page(&second[page]);
  atomic_store(&array_at_work, 2);
}

static int is_right(const page_t* array, unsigned long rounds) {
  for (int page = 0; page < pages; ++page) {
    if (array[page].touched != touches || array[page].tasked != rounds) return 0;
    for (unsigned word = 0; word < sizeof array->swept / sizeof *array->swept; ++word)
      if (array[page].swept[word] != rounds * word) return 0;
  }
  return 1;
}

static int keep_plan(const char* path) {
  char text[1 << 16];
  FILE* from = fopen(getenv("OMPTIER_PLAN"), "r");
  FILE* to = fopen(path, "w");
  if (from == NULL || to == NULL) return 1;
  for (size_t bytes; (bytes = fread(text, 1, sizeof text, from)) > 0;)
    fwrite(text, 1, bytes, to);
  return fclose(to) != 0;
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "keep") == 0) return keep_plan(argv[2]);
  if (argc != 2 && argc != 3) return 2;
  if (argc == 3) slow_microseconds = 1000 * (useconds_t)atoi(argv[2]);
  const int rounds = atoi(argv[1]);
  int in_place[2] = {0, 0};
  pthread_t outside;
  first = make_first();
  second = make_second();
  if (pthread_create(&outside, NULL, touch, NULL) != 0) return 1;
#pragma omp parallel num_threads(threads)
  for (int round = 0; round < rounds; ++round) {
    sweep_first(&in_place[0]);
    sweep_second(&in_place[1]);
  }
  atomic_store(&over, 1);
  pthread_join(outside, NULL);
  printf("in place %d and %d of %d\n", in_place[0], in_place[1], rounds);
  printf("pages moved while threads worked %lu\n", atomic_load(&moved_while_working));
  printf("values %s\n",
         is_right(first, (unsigned long)rounds) && is_right(second, (unsigned long)rounds)
             ? "right"
             : "wrong");
  return 0;
}
