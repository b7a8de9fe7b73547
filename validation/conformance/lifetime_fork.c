// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of a process: fork while alone, with many blocks, with threads at work in every part of
// us; children that share memory with their parent (vfork, posix_spawn, CLONE_VM).
#define _GNU_SOURCE
#include "lifetime.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

// Parent's blocks are the child's too; both write, free and allocate on their own; so does a
// grandchild.
static void case_fork(void) {
  struct block mine[3];
  const size_t sizes[] = {100, 70000, 3000000};
  for (unsigned i = 0; i < 3; ++i)
    mine[i] = take(sizes[i], ompx_dram_mem_alloc, i);
  exercise_team();
  const pid_t child = fork();
  if (child == 0) {
    exercise_team();
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      for (unsigned i = 0; i < 3; ++i)
        give(&mine[i]);
      exercise(5);
      _exit(0);
    }
    await(grandchild, "grandchild");
    for (unsigned i = 0; i < 3; ++i) {
      verify(&mine[i]);
      memset(mine[i].at, 0, sizes[i]);
      omp_free(mine[i].at, omp_null_allocator);
    }
    exit(0); // with everything that runs at exit
  }
  exercise(9);
  await(child, "child");
  for (unsigned i = 0; i < 3; ++i)
    give(&mine[i]);
}

static double fork_and_end(void) {
  const double begin = seconds();
  const pid_t child = fork();
  if (child == 0) _exit(0);
  const double forked = seconds();
  await(child, "child that ends at once");
  return forked - begin;
}

// 10,000 extents alive, with a capacity of 3 GiB for 2.7 GB of them (lifetime.cmake). They must not
// cost the process its kernel mappings.
static void case_fork_many(void) {
  enum { k_blocks = 10000, k_touched = 2000 };
  static struct block blocks[k_blocks];
  omp_alloctrait_t traits[] = {{ompx_atk_placement, ompx_atv_placement_preferred},
                               {omp_atk_fallback, omp_atv_null_fb}};
  const omp_allocator_handle_t preferred = omp_init_allocator(ompx_dram_mem_space, 2, traits);
  struct block first = take(300000, preferred, 1);
  const unsigned mappings_before = count_mappings();
  const double alone = fork_and_end();
  const double begin = seconds();
  for (int i = 0; i < k_blocks; ++i) {
    blocks[i].bytes = 270000;
    blocks[i].at = omp_alloc(blocks[i].bytes, preferred);
    check(blocks[i].at != NULL, "no block %d", i);
    if (i < k_touched) blocks[i].at[i] = (unsigned char)i;
  }
  const double allocated = seconds();
  const unsigned mappings = count_mappings();
  const double many = fork_and_end();
  figure(
      "10,000 blocks of 270,000 bytes in %.0f ms: %u mappings (%u before), fork %.2f ms (%.2f ms "
      "before)",
      1e3 * (allocated - begin), mappings, mappings_before, 1e3 * many, 1e3 * alone);
  check(mappings < mappings_before + 1000, "%u mappings of the 65,530 a process has", mappings);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < k_touched; ++i)
      check(blocks[i].at[i] == (unsigned char)i, "block %d in the child", i);
    for (int i = 0; i < k_blocks; i += 3)
      omp_free(blocks[i].at, preferred);
    exercise(3);
    _exit(0);
  }
  await(child, "child with 10,000 extents");
  for (int i = 0; i < k_blocks; ++i) {
    check(i >= k_touched || blocks[i].at[i] == (unsigned char)i, "block %d", i);
    omp_free(blocks[i].at, preferred);
  }
  give(&first);
  // What is cached for reuse is left, and no more.
  check(count_mappings() < mappings_before + 1000, "%u mappings are left", count_mappings());
}

// ---- Forks at any moment of other threads.

static volatile int stop_threads;

static void* allocate_on(void* number) {
  for (unsigned round = 0; !stop_threads; ++round)
    exercise(100 * (unsigned)(uintptr_t)number + round);
  return NULL;
}

// Lists all blocks to a pipe whose reader allocates too: nothing may be locked while we write.
static int dump_pipe[2];
static void* dump_blocks(void* unused) {
  while (!stop_threads)
    check(ompx_dump(dump_pipe[1]) == 0, "ompx_dump");
  close(dump_pipe[1]);
  return unused;
}
static void* read_dump(void* unused) {
  char text[512];
  while (read(dump_pipe[0], text, sizeof text) > 0) {
    struct block block = take(300, ompx_dram_mem_alloc, 7);
    give(&block);
  }
  return unused;
}

static void* move_blocks(void* unused) {
  omp_alloctrait_t traits[] = {{ompx_atk_importance, 10}};
  const omp_allocator_handle_t allocator = omp_init_allocator(ompx_auto_mem_space, 1, traits);
  for (unsigned round = 0; !stop_threads; ++round) {
    struct block block = take(1 << 20, allocator, round);
    omp_alloctrait_t other[] = {{ompx_atk_importance, round % 1000}};
    check(ompx_update_traits(block.at, 1, other) == ompx_success, "ompx_update_traits");
    ompx_apply(ompx_order_density, NULL);
    give(&block);
  }
  return unused;
}

static void case_fork_busy(void) {
  pthread_t threads[5];
  check(pipe(dump_pipe) == 0, "pipe");
  exercise(0); // libomp itself cannot be forked while it starts
  pthread_create(&threads[0], NULL, allocate_on, (void*)1);
  pthread_create(&threads[1], NULL, allocate_on, (void*)2);
  pthread_create(&threads[2], NULL, dump_blocks, NULL);
  pthread_create(&threads[3], NULL, read_dump, NULL);
  pthread_create(&threads[4], NULL, move_blocks, NULL);
  const double begin = seconds();
  int forks = 0;
  for (; seconds() - begin < 2.0 || forks < 20; ++forks) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      exercise((unsigned)forks);
      const int sink = open("/dev/null", O_WRONLY);
      check(ompx_dump(sink) == 0, "ompx_dump in the child");
      ompx_apply(ompx_order_density, NULL);
      _exit(0);
    }
    await(child, "child of a busy process");
  }
  stop_threads = 1;
  for (int i = 0; i < 5; ++i)
    pthread_join(threads[i], NULL);
  figure("%d forks with 5 threads at work", forks);
}

// A commit allocates from libomp, whose own locks are held during a fork: threads that libomp does
// not know yet wait for them.
static void* commit_once(void* unused) {
  void* blocks[8] = {NULL};
  for (int i = 0; i < 8; ++i)
    check(ompx_declare(&blocks[i], 4096 * (i + 1), omp_default_mem_space, 0, NULL) == ompx_success,
          "ompx_declare");
  ompx_commit(ompx_order_density, NULL);
  for (int i = 0; i < 8; ++i)
    omp_free(blocks[i], omp_null_allocator);
  return unused;
}
static void* commit_on(void* unused) {
  while (!stop_threads) {
    pthread_t thread;
    check(pthread_create(&thread, NULL, commit_once, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
  }
  return unused;
}

static void case_fork_commit(void) {
  pthread_t thread;
  exercise(0);
  pthread_create(&thread, NULL, commit_on, NULL);
  for (int i = 0; i < 400; ++i) {
    // Another thread may be committing it when the process forks. (Not libomp's memory, which must
    // not be freed once that thread has ended.)
    void* mine = NULL;
    check(ompx_declare(&mine, 5000, ompx_dram_mem_space, 0, NULL) == ompx_success, "declare");
    const pid_t child = fork();
    if (child == 0) alarm(60);
    ompx_commit(ompx_order_density, NULL);
    check(mine != NULL, "declared and committed, and yet no block");
    memset(mine, 1, 5000);
    omp_free(mine, omp_null_allocator);
    if (child == 0) _exit(0);
    await(child, "child of a committing process");
  }
  stop_threads = 1;
  pthread_join(thread, NULL);
}

// ---- Children that share our memory.

static int in_shared_child(void* block) {
  struct block other = take(50000, ompx_dram_mem_alloc, 3);
  give(&other);
  verify(block);
  return 0;
}

static void case_shared_memory(void) {
  struct block mine = take(2000000, ompx_dram_mem_alloc, 1);
  for (int i = 0; i < 20; ++i) {
    const pid_t child = vfork();
    if (child == 0) {
      execl("/bin/true", "true", (char*)NULL);
      _exit(1);
    }
    await(child, "vfork");
    pid_t spawned = 0;
    char* arguments[] = {"true", NULL};
    check(posix_spawn(&spawned, "/bin/true", NULL, NULL, arguments, environ) == 0, "posix_spawn");
    await(spawned, "posix_spawn");
  }
  // A child that runs in our memory while we wait (CLONE_VFORK): it allocates as one more thread.
  char* stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
  await(clone(in_shared_child, stack + (1 << 20), flags, &mine), "clone with CLONE_VM");
  exercise_team();
  give(&mine);
}

const struct lifetime_case fork_cases[] = {{"fork", case_fork, NULL, NULL},
                                           {"fork-many", case_fork_many, NULL, NULL},
                                           {"fork-busy", case_fork_busy, NULL, NULL},
                                           {"fork-commit", case_fork_commit, NULL, NULL},
                                           {"shared-memory", case_shared_memory, NULL, NULL},
                                           {NULL, NULL, NULL, NULL}};
