/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A thread that is to be cancelled allocates first, so that the machine is discovered in its call:
 * it comes back, and others can allocate. usage: cancelled omp_alloc|malloc */
#include <omp.h>
#include <ompx_memory.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { k_bytes = 1 << 20 };
static int by_malloc;
static volatile int done;

static void *allocate(void) {
  void *block = by_malloc ? malloc(k_bytes) : omp_alloc(k_bytes, ompx_dram_mem_alloc);
  if (block != NULL) memset(block, 1, k_bytes);
  return block;
}

static void *run(void *argument) {
  pthread_cancel(pthread_self());
  *(void *volatile *)argument = allocate();
  done = 1;
  pthread_testcancel();
  return NULL;
}

static int is_placed(const void *block) {
  ompx_placement_t where;
  memset(&where, 0, sizeof where);
  where.struct_size = sizeof where;
  return block != NULL && ompx_get_placement(block, 0, &where) == 0;
}

int main(int argc, char **argv) {
  by_malloc = argc > 1 && strcmp(argv[1], "malloc") == 0;
  alarm(60); /* ends a main thread that waits for a lock of the other one */
  pthread_t thread;
  void *block = NULL, *result = NULL;
  if (pthread_create(&thread, NULL, run, &block) != 0) return 2;
  pthread_join(thread, &result);
  void *own = allocate();
  printf("%s, %s, %d of 2 blocks placed\n", done ? "came back" : "never came back",
         result == PTHREAD_CANCELED ? "then cancelled" : "not cancelled",
         is_placed(block) + is_placed(own));
  return 0;
}
