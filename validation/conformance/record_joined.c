/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A library whose fork handler, registered before OMPTier's, joins a thread that allocates (as
 * OpenBLAS does). Compiled with -DLIBRARY it is that library.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef LIBRARY
static atomic_int wanted = 0, over = 0;
static pthread_t worker;

static void* work(void* nothing) {
  while (!over) {
    void* blocks[500];
    for (int i = 0; i < 500; ++i)
      blocks[i] = malloc(56 + (size_t)i % 2 * 8000);
    for (int i = 0; i < 500; ++i)
      free(blocks[i]);
  }
  return nothing;
}
void start_worker(void) {
  over = 0;
  wanted = pthread_create(&worker, NULL, work, NULL) == 0;
}
static void before_fork(void) {
  if (!wanted) return;
  over = 1;
  pthread_join(worker, NULL);
  wanted = 0;
}
__attribute__((constructor)) static void early(void) {
  pthread_atfork(before_fork, NULL, NULL);
}
#else
void start_worker(void);

int main(void) {
  for (int i = 0; i < 10; ++i) {
    start_worker();
    usleep(50000);
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  puts("10 forks");
  return 0;
}
#endif
