// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For ThreadSanitizer: two threads write one word, with a barrier between them, or (argument
// "race") without. Only a tool that tells the sanitizer of OpenMP's barriers, as Archer does, can
// say which is which.
#include <omp.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  const int race = argc > 1 && strcmp(argv[1], "race") == 0;
  long word = 0;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) word += 1;
    if (!race) {
#pragma omp barrier
    }
    if (omp_get_thread_num() == 1) word += 2;
  }
  printf("%ld\n", word);
  return 0;
}
