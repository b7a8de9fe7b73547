/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An OMPT tool within the program notes the code address of each parallel construct in the same
 * file as the counting library notes that of each region: they must be the same, for one side
 * records the profile by the former and the other applies the plan by the latter. */
#include <fcntl.h>
#include <omp-tools.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void parallel_begin(ompt_data_t* task, const ompt_frame_t* frame, ompt_data_t* parallel,
                           unsigned int threads, int flags, const void* codeptr) {
  (void)task, (void)frame, (void)parallel, (void)threads, (void)flags;
  char line[64];
  int length = snprintf(line, sizeof line, "codeptr ompt %p\n", codeptr);
  int file = open(getenv("COUNTING_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (file < 0 || write(file, line, (size_t)length) != length) abort();
  close(file);
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t* data) {
  (void)device, (void)data;
  ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
  return set(ompt_callback_parallel_begin, (ompt_callback_t)parallel_begin) == ompt_set_always;
}

static void finalize(ompt_data_t* data) {
  (void)data;
}

ompt_start_tool_result_t* ompt_start_tool(unsigned int version, const char* runtime) {
  (void)version, (void)runtime;
  static ompt_start_tool_result_t result = {initialize, finalize, {0}};
  return &result;
}

int main(void) {
  long total = 0;
  for (int round = 0; round < 2; round++) {
#pragma omp parallel num_threads(2) reduction(+ : total)
    total += 1;
#pragma omp parallel for num_threads(2) schedule(dynamic) reduction(+ : total)
    for (int i = 0; i < 10; i++)
      total += i;
#pragma omp parallel sections num_threads(2) reduction(+ : total)
    {
#pragma omp section
      total += 1;
#pragma omp section
      total += 2;
    }
  }
  printf("%ld\n", total);
  return 0;
}
