/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A library whose constructor runs a thread, which runs others, to their end: all the while the loader's lock is
 * held. */
#include <pthread.h>
#include <threads.h>

static void *run(void *argument) {
  return argument;
}
static int run_c11(void *argument) {
  return argument != NULL;
}
static void *run_others(void *argument) {
  pthread_t one;
  thrd_t other;
  if (pthread_create(&one, NULL, run, NULL) == 0) pthread_join(one, NULL);
  if (thrd_create(&other, run_c11, NULL) == thrd_success) thrd_join(other, NULL);
  return argument;
}
__attribute__((constructor)) static void start(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_others, NULL) == 0) pthread_join(thread, NULL);
}
