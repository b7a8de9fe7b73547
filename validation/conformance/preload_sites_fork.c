/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Forks while other threads allocate and OMPTIER_SITES lists blocks: the child must not find the
 * list locked.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int over;

static void use(void) {
  void* volatile block = malloc(100000);
  free(block);
}

static void* allocate(void* unused) {
  while (!over)
    use();
  return unused;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i)
    pthread_create(&threads[i], NULL, allocate, NULL);
  int bad = 0;
  for (int i = 0; i < 200 && bad == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      use();
      _exit(0);
    }
    waitpid(child, &bad, 0);
  }
  over = 1;
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
  if (bad == 0) puts("preload_sites_fork holds");
  return bad != 0;
}
