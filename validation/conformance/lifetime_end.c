// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ends: of libraries, of threads, of the OpenMP runtime, of the process; memory that outlives them.
#define _GNU_SOURCE
#include "lifetime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void __kmpc_end(void* place);

// ---- A library that allocated is unloaded; its blocks live on, and their sites can be asked for.

static void case_dlclose(void) {
  char path[5000];
  snprintf(path, sizeof path, "%s-library.so", own_path());
  for (unsigned round = 0; round < 5; ++round) {
    void* library = dlopen(path, RTLD_NOW);
    check(library != NULL, "dlopen: %s", dlerror());
    void* (*library_allocate)(size_t) = (void* (*)(size_t))dlsym(library, "library_allocate");
    check(library_allocate != NULL, "no library_allocate");
    unsigned char *small = library_allocate(1000), *large = library_allocate(2000000);
    memset(small, 1, 1000);
    memset(large, 2, 2000000);
    check(dlclose(library) == 0, "dlclose");
    check(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL, "the library is still there");
    check(small[999] == 1 && large[1999999] == 2, "bytes are lost");
    ompx_placement_t placement = {.struct_size = sizeof placement};
    check(ompx_get_placement(small, 0, &placement) == 0 && placement.block_bytes == 1000,
          "the small block is forgotten");
    check(ompx_get_placement(large, 0, &placement) == 0 && placement.block_bytes == 2000000,
          "the large block is forgotten");
    FILE* sink = fopen("/dev/null", "w");
    check(sink != NULL && ompx_dump(fileno(sink)) == 0, "ompx_dump");
    fclose(sink);
    omp_free(small, omp_null_allocator);
    large = omp_realloc(large, 3000000, omp_null_allocator, omp_null_allocator);
    check(large != NULL && large[1999999] == 2, "realloc");
    omp_free(large, omp_null_allocator);
  }
}

// ---- Threads.

enum { k_kept = 40 };
static struct block kept[k_kept];

static void clean_up(void* unused) {
  (void)unused;
  exercise(11);
}

static void* allocate_and_end(void* number) {
  const unsigned n = (unsigned)(uintptr_t)number;
  struct block* block = &kept[n % k_kept];
  *block = take(n % 4 == 0 ? 400000 : 500 * (n % 8 + 1), ompx_dram_mem_alloc, n);
  exercise(n);
  pthread_cleanup_push(clean_up, NULL); // allocates while the thread ends
  if (n % 3 == 0) pthread_exit(NULL);
  if (n % 3 == 1) {
    pthread_cancel(pthread_self());
    pthread_testcancel();
  }
  pthread_cleanup_pop(1);
  return NULL;
}

static pthread_key_t key;
static void free_in_destructor(void* block) {
  give(block);
  exercise(17);
}
static void* keep_in_key(void* block) {
  *(struct block*)block = take(3000, ompx_dram_mem_alloc, 2);
  pthread_setspecific(key, block);
  return NULL;
}

// Threads come and go; what they leave is right and is freed by others.
static void case_thread_exit(void) {
  for (unsigned round = 0; round < 2; ++round) {
    for (unsigned first = 0; first < k_kept; first += 4) {
      pthread_t threads[4];
      for (unsigned i = 0; i < 4; ++i)
        pthread_create(&threads[i], NULL, allocate_and_end, (void*)(uintptr_t)(first + i));
      for (unsigned i = 0; i < 4; ++i)
        pthread_join(threads[i], NULL);
    }
    for (unsigned i = 0; i < k_kept; ++i)
      give(&kept[i]);
  }
  pthread_key_create(&key, free_in_destructor);
  struct block block;
  for (unsigned round = 0; round < 20; ++round) {
    pthread_t thread;
    pthread_create(&thread, NULL, keep_in_key, &block);
    pthread_join(thread, NULL);
    check(block.at == NULL, "the destructor of a thread's key did not run");
  }
}

static pthread_t main_thread;
static void* outlive_main(void* block) {
  pthread_join(main_thread, NULL);
  give(block);
  exercise(4);
  exit(0); // libomp's own threads would keep the process alive
}

static void case_main_thread_exit(void) {
  static struct block block;
  block = take(100000, ompx_dram_mem_alloc, 3);
  exercise_team();
  main_thread = pthread_self();
  pthread_t thread;
  pthread_create(&thread, NULL, outlive_main, &block);
  pthread_exit(NULL);
}

static void* allocate_for_ever(void* number) {
  for (unsigned round = 0;; ++round)
    exercise_ours((unsigned)(uintptr_t)number * 1000 + round);
  return NULL;
}

// Main returns while threads allocate: they must not meet anything that is gone.
static void case_exit_busy(void) {
  for (unsigned round = 0; round < 15; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      pthread_t threads[3];
      for (int i = 0; i < 3; ++i)
        pthread_create(&threads[i], NULL, allocate_for_ever, (void*)(uintptr_t)i);
      usleep(5000 + 7000 * round);
      exit(0);
    }
    await(child, "process that ends while its threads allocate");
  }
}

// Destructors of static objects of other libraries, before and after libomp's own; see
// lifetime_library.cpp. Exit handlers too.
static struct block for_exit;
static void at_exit(void) {
  give(&for_exit);
  exercise(6);
}
extern void late_library_keeps(void* block, size_t bytes);
extern void early_library_keeps(void* block, size_t bytes);

static void case_destructors(void) {
  atexit(at_exit);
  for_exit = take(123456, ompx_dram_mem_alloc, 5);
  for (size_t bytes = 50; bytes < 3000000; bytes = bytes * 7) {
    early_library_keeps(take(bytes, ompx_dram_mem_alloc, 0).at, bytes);
    late_library_keeps(take(bytes, ompx_dram_mem_alloc, 0).at, bytes);
  }
  exercise_team();
  exit(0);
}

// ---- The runtime ends before the memory.

static void case_pause(void) {
  const omp_pause_resource_t kinds[] = {omp_pause_soft, omp_pause_hard};
  for (unsigned round = 0; round < 6; ++round) {
    struct block small = take(77, ompx_dram_mem_alloc, 1);
    struct block large = take(1500000, ompx_dram_mem_alloc, 2);
    struct block grown = take(600000, ompx_auto_mem_alloc, 3);
    exercise_team();
    check(omp_pause_resource_all(kinds[round % 2]) == 0, "omp_pause_resource_all");
    give(&small);
    give(&large);
    grown.at = omp_realloc(grown.at, 900000, omp_null_allocator, omp_null_allocator);
    check(grown.at != NULL, "no realloc after the pause");
    verify(&grown);
    give(&grown);
    exercise(round);
  }
}

static void let_kmpc_end_work(void) {
  setenv("KMP_IGNORE_MPPEND", "0", 1);
}
// (libomp's own memory cannot be used after this: it crashes, unpatched too. Ours can.)
static void case_runtime_end(void) {
  struct block blocks[20];
  for (unsigned i = 0; i < 20; ++i)
    blocks[i] = take(i % 5 == 4 ? 500000 * i : 77 * (i + 1), ompx_dram_mem_alloc, i);
  exercise_team();
  __kmpc_end(NULL);
  for (unsigned i = 0; i < 20; i += 2) {
    give(&blocks[i]);
    blocks[i] = take(i % 4 == 0 ? 700000 : 99, ompx_dram_mem_alloc, i);
    check(blocks[i].at != NULL, "no block after the end");
  }
  for (unsigned i = 0; i < 20; ++i)
    give(&blocks[i]);
}

const struct lifetime_case end_cases[] = {
    {"dlclose", case_dlclose, NULL, NULL},
    {"thread-exit", case_thread_exit, NULL, NULL},
    {"main-thread-exit", case_main_thread_exit, NULL, NULL},
    {"exit-busy", case_exit_busy, NULL, NULL},
    {"destructors", case_destructors, NULL, NULL},
    {"pause", case_pause, NULL, NULL},
    {"runtime-end", case_runtime_end, let_kmpc_end_work, NULL},
    {NULL, NULL, NULL, NULL}};
