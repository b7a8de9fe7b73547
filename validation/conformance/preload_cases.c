/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program that knows nothing of OMPTier: malloc and its siblings in every form, statics, threads,
 * a fork. What is called hot_* and cold_* is placed by the plan that preload.py makes; the program
 * asks the kernel where the pages are and checks that no byte is lost. preload_cases HOT COLD NUMA
 * nodes on which hot_* and cold_* must be; -1: not asked
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

char hot_bss[3 * 1048576 + 100];
char cold_data[1048576] = {1, 2, 3};
static double hot_local[200000];

static int hot_node, cold_node, checks;

static void check(int good, const char* what) {
  __atomic_add_fetch(&checks, 1, __ATOMIC_RELAXED);
  if (good) return;
  fprintf(stderr, "preload_cases: %s\n", what);
  _exit(1);
}

/* Every whole page of the range, all of them touched, lies on the node. */
static void on_node(const void* begin, size_t bytes, int node, const char* what) {
  const uintptr_t first = ((uintptr_t)begin + 4095) & ~(uintptr_t)4095;
  const uintptr_t last = ((uintptr_t)begin + bytes) & ~(uintptr_t)4095;
  if (node < 0) return;
  for (uintptr_t at = first; at < last; at += 4096) {
    void* page = (void*)at;
    int status = -1;
    check(syscall(SYS_move_pages, 0, 1ul, &page, NULL, &status, 0) == 0, "move_pages");
    if (status != node) fprintf(stderr, "node %d, wanted %d\n", status, node);
    check(status == node, what);
  }
}

static void fill(char* block, size_t bytes, int seed) {
  for (size_t i = 0; i < bytes; i += 64)
    block[i] = (char)(seed + (int)(i >> 6));
}
static int holds(const char* block, size_t bytes, int seed) {
  for (size_t i = 0; i < bytes; i += 64)
    if (block[i] != (char)(seed + (int)(i >> 6))) return 0;
  return 1;
}
static int is_zero(const char* block, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    if (block[i] != 0) return 0;
  return 1;
}

static void plain(void) {
  char* hot_plain = malloc(3 * MIB);
  fill(hot_plain, 3 * MIB, 1);
  char* cold_zeroed = calloc(5, MIB);
  check(is_zero(cold_zeroed, 5 * MIB), "calloc is zero");
  fill(cold_zeroed, 5 * MIB, 2);
  on_node(hot_plain, 3 * MIB, hot_node, "malloc");
  on_node(cold_zeroed, 5 * MIB, cold_node, "calloc");
  check(malloc_usable_size(hot_plain) >= 3 * MIB, "usable size");
  check(holds(hot_plain, 3 * MIB, 1) && holds(cold_zeroed, 5 * MIB, 2), "bytes");
  free(hot_plain);
  free(cold_zeroed);
  for (int i = 0; i < 3; ++i) { /* memory that was used before */
    char* cold_again = calloc(3 * MIB, 1);
    check(is_zero(cold_again, 3 * MIB), "calloc of used memory is zero");
    memset(cold_again, 0x5a, 3 * MIB);
    free(cold_again);
  }
  char* edge = malloc(65535); /* too small for any plan */
  char* hot_edge = malloc(65536);
  fill(hot_edge, 65536, 3);
  on_node(hot_edge, 65536, hot_node, "64 KiB");
  free(edge);
  free(hot_edge);
  errno = 0;
  volatile size_t huge = PTRDIFF_MAX;
  check(malloc(huge) == NULL && errno == ENOMEM, "no such amount");
  check(calloc(huge, 16) == NULL, "overflow");
}

static void resized(void) {
  char* hot_start = malloc(MIB);
  fill(hot_start, MIB, 4);
  char* block = realloc(hot_start, 6 * MIB); /* not named: stays hot */
  check(holds(block, MIB, 4), "grown");
  fill(block, 6 * MIB, 5);
  on_node(block, 6 * MIB, hot_node, "grown, hot still");
  char* cold_grown = realloc(block, 9 * MIB);
  check(holds(cold_grown, 6 * MIB, 5), "grown and moved");
  fill(cold_grown, 9 * MIB, 6);
  on_node(cold_grown, 9 * MIB, cold_node, "realloc's own site");
  char* small = realloc(cold_grown, 1000);
  check(holds(small, 1000, 6), "shrunk out");
  char* hot_small = realloc(small, 2 * MIB);
  check(holds(hot_small, 1000, 6), "grown from the program's malloc");
  fill(hot_small, 2 * MIB, 7);
  on_node(hot_small, 2 * MIB, hot_node, "from theirs to ours");
#ifdef OTHER_MALLOC /* which gives a block for 0 bytes */
  free(hot_small);
#else
  check(realloc(hot_small, 0) == NULL, "realloc to nothing");
#endif
  char* unnamed = malloc(MIB);
  fill(unnamed, MIB, 8);
  char* cold_array = reallocarray(unnamed, 3, MIB);
  check(holds(cold_array, MIB, 8), "reallocarray");
  fill(cold_array, 3 * MIB, 9);
  on_node(cold_array, 3 * MIB, cold_node, "reallocarray");
  void* (*volatile overflowing)(void*, size_t, size_t) = reallocarray;
  check(overflowing(cold_array, SIZE_MAX / 2, 3) == NULL && holds(cold_array, 3 * MIB, 9),
        "overflow");
  free(cold_array);
  char* cold_new = realloc(NULL, 2 * MIB);
  fill(cold_new, 2 * MIB, 10);
  on_node(cold_new, 2 * MIB, cold_node, "realloc of nothing");
  free(cold_new);
}

static void aligned(void) {
  void* hot_posix = NULL;
  check(posix_memalign(&hot_posix, 2 * MIB, 3 * MIB) == 0 && (uintptr_t)hot_posix % (2 * MIB) == 0,
        "posix_memalign");
  fill(hot_posix, 3 * MIB, 11);
  on_node(hot_posix, 3 * MIB, hot_node, "posix_memalign");
  char* cold_c11 = aligned_alloc(65536, MIB);
  check((uintptr_t)cold_c11 % 65536 == 0, "aligned_alloc");
  fill(cold_c11, MIB, 12);
  on_node(cold_c11, MIB, cold_node, "aligned_alloc");
  char* hot_old = memalign(4096, MIB);
  check((uintptr_t)hot_old % 4096 == 0, "memalign");
  fill(hot_old, MIB, 13);
  on_node(hot_old, MIB, hot_node, "memalign");
  char* cold_page = valloc(MIB);
  check((uintptr_t)cold_page % 4096 == 0, "valloc");
  fill(cold_page, MIB, 14);
  on_node(cold_page, MIB, cold_node, "valloc");
#ifdef OTHER_MALLOC /* which has no pvalloc, and cannot free the C library's */
  char* hot_pages = valloc(MIB + 4096);
#else
  char* hot_pages = pvalloc(MIB + 1);
#endif
  check((uintptr_t)hot_pages % 4096 == 0, "pvalloc");
  fill(hot_pages, MIB + 4096, 15);
  void* none = NULL;
  check(posix_memalign(&none, 24, 3 * MIB) == EINVAL, "no alignment");
  check(holds(hot_posix, 3 * MIB, 11) && holds(cold_c11, MIB, 12) && holds(hot_old, MIB, 13) &&
            holds(cold_page, MIB, 14) && holds(hot_pages, MIB + 4096, 15),
        "bytes of aligned blocks");
  free(hot_posix), free(cold_c11), free(hot_old), free(cold_page), free(hot_pages);
}

static void statics(void) {
  check(cold_data[0] == 1 && cold_data[2] == 3 && cold_data[5] == 0, "initial values");
  fill(hot_bss, sizeof hot_bss, 16);
  fill(cold_data, sizeof cold_data, 17);
  fill((char*)hot_local, sizeof hot_local, 18);
  on_node(hot_bss, sizeof hot_bss, hot_node, ".bss");
  on_node(cold_data, sizeof cold_data, cold_node, ".data");
  on_node(hot_local, sizeof hot_local, hot_node, "file-local");
  check(holds(hot_bss, sizeof hot_bss, 16) && holds(cold_data, sizeof cold_data, 17) &&
            holds((char*)hot_local, sizeof hot_local, 18),
        "bytes of statics");
}

static void* work(void* argument) {
  const int seed = (int)(intptr_t)argument;
  char** handed = malloc(20 * sizeof *handed);
  for (int i = 0; i < 20; ++i) {
    char* hot_thread = malloc(256 * 1024 + (size_t)(seed + i) * 4096);
    fill(hot_thread, 256 * 1024, seed + i);
    if (i % 4 == 0) on_node(hot_thread, 256 * 1024, hot_node, "in a thread");
    handed[i] = hot_thread;
    free(strdup("small"));
  }
  return handed;
}

static void threads(void) {
  pthread_t threads[6];
  for (int i = 0; i < 6; ++i)
    check(pthread_create(&threads[i], NULL, work, (void*)(intptr_t)i) == 0, "thread");
  for (int i = 0; i < 6; ++i) {
    char** handed = NULL;
    pthread_join(threads[i], (void**)&handed);
    for (int block = 0; block < 20; ++block) {
      check(holds(handed[block], 256 * 1024, i + block), "bytes of a thread's block");
      free(handed[block]);
    }
    free(handed);
  }
}

/* Frees and allocates while the library's locks are held. */
static char* hot_before;
static void at_fork(void) {
  free(hot_before);
  hot_before = malloc(MIB); /* unnamed on purpose: another site */
  fill(hot_before, MIB, 20);
}

static void forked(void) {
  hot_before = malloc(2 * MIB);
  fill(hot_before, 2 * MIB, 19);
  char* cold_shared = malloc(2 * MIB);
  fill(cold_shared, 2 * MIB, 21);
  pthread_atfork(at_fork, NULL, NULL);
  pid_t child = -1;
  for (int pass = 0; pass < 2; ++pass) { /* the same site in both processes: the parent lists it */
    if (pass == 1 && (child = fork()) != 0) break;
    char* hot_child = malloc(2 * MIB);
    fill(hot_child, 2 * MIB, 22);
    on_node(hot_child, 2 * MIB, hot_node, "in parent and child");
    free(hot_child);
  }
  if (child == 0) {
    const int good = holds(cold_shared, 2 * MIB, 21) && holds(hot_before, MIB, 20);
    free(cold_shared), free(hot_before);
    _exit(good ? 0 : 3);
  }
  int status = -1;
  waitpid(child, &status, 0);
  check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child");
  check(holds(cold_shared, 2 * MIB, 21) && holds(hot_before, MIB, 20), "bytes after fork");
  free(cold_shared);
}

/* Freed by the very end: after the library's own last words. */
static char* hot_last;
__attribute__((destructor(101))) static void last(void) {
  if (hot_last != NULL && !holds(hot_last, MIB, 23)) _exit(4);
  free(hot_last);
}

int main(int argc, char** argv) {
  hot_node = argc > 1 ? atoi(argv[1]) : -1;
  cold_node = argc > 2 ? atoi(argv[2]) : -1;
  hot_last = malloc(MIB);
  fill(hot_last, MIB, 23);
  plain();
  resized();
  aligned();
  statics();
  threads();
  forked();
  printf("preload_cases holds\n");
  return 0;
}
