/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A library whose fork handler was registered before OMPTier's, which frees a block of ours
 * and allocates. Compiled with -DLIBRARY it is that library.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES ((size_t)3 << 20)

#ifdef LIBRARY
char *held, *got;

static void before_fork(void) {
  free(held);
  held = NULL;
  got = malloc(BYTES);
  memset(got, 1, BYTES);
}
__attribute__((constructor)) static void early(void) {
  pthread_atfork(before_fork, NULL, NULL);
}
#else
extern char *held, *got;

int main(void) {
  for (int i = 0; i < 20; ++i) {
    char* hot_block = malloc(BYTES);
    memset(hot_block, 2, BYTES);
    held = hot_block;
    const pid_t child = fork();
    const int bad = got[0] != 1 || got[BYTES - 1] != 1;
    free(got);
    if (child == 0) _exit(bad);
    int status = -1;
    waitpid(child, &status, 0);
    if (bad || status != 0) return 1;
  }
  puts("preload_fork holds");
  return 0;
}
#endif
