// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small OpenMP program for record.py: two objects of known use, allocated in known lines, used in
// known regions; its argument says how it ends.
#include <omp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { k_words = 1 << 20 };

__attribute__((noinline)) static uint64_t* allocate_words(size_t count) {
  uint64_t* words = omp_alloc(count * sizeof *words, omp_default_mem_alloc);
  if (words == NULL) exit(99);
  return words;
}

__attribute__((noinline)) static uint64_t gather(const uint64_t* table, unsigned rounds) {
  uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) // region "gather"
  for (unsigned i = 0; i < rounds; ++i) {
    uint64_t at = i * UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned k = 0; k < 64; ++k) {
      at = at * UINT64_C(6364136223846793005) + table[at >> 44];
      sum += at;
    }
  }
  return sum;
}

__attribute__((noinline)) static uint64_t add_up(const uint64_t* list) {
  uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) // region "add_up"
  for (unsigned i = 0; i < k_words; ++i)
    sum += list[i];
  return sum;
}

// One thread of the region works, the others wait for its end.
__attribute__((noinline)) static uint64_t work_alone(const uint64_t* list, unsigned rounds) {
  uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum) // region "work_alone"
  if (omp_get_thread_num() == 0)
    for (unsigned k = 0; k < rounds; ++k)
      for (unsigned i = 0; i < k_words; ++i)
        sum += list[i] ^ k;
  return sum;
}

__attribute__((noinline)) static void fork_and_allocate(void) {
  const pid_t child = fork();
  if (child == 0) {
    uint64_t* in_child = allocate_words(1000);
    memset(in_child, 1, 8000);
    const uint64_t sum = gather(in_child, 0);
    omp_free(in_child, omp_default_mem_alloc);
    exit(sum == 0 ? 0 : 1);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) exit(98);
}

int main(int count, char** arguments) {
  const char* end = count > 1 ? arguments[1] : "exit";
  uint64_t* hot_table = allocate_words(k_words);
  uint64_t* cold_list = allocate_words(k_words);
  for (unsigned i = 0; i < k_words; ++i)
    hot_table[i] = cold_list[i] = i;
  uint64_t sum = 0;
  const unsigned rounds = count > 2 ? (unsigned)atoi(arguments[2]) : 30000;
  unsigned ten = 10, three = 3; // loops for the compiler too
  __asm__ volatile("" : "+r"(ten), "+r"(three));
  for (unsigned i = 0; i < ten; ++i)
    sum += gather(hot_table, rounds);
  sum += add_up(cold_list);
  if (strcmp(end, "wait") == 0) sum += work_alone(cold_list, rounds);
  if (strcmp(end, "chdir") == 0 && chdir("/") != 0) return 97;
  if (strcmp(end, "fork") == 0) fork_and_allocate();
  if (strcmp(end, "kill") == 0) {
    usleep(300000);
    raise(SIGKILL);
  }
  if (strcmp(end, "abort") == 0) abort();
  for (unsigned i = 0; i < three; ++i) { // one site, three instances
    uint64_t* repeated = allocate_words(100 + i);
    repeated[0] = 1;
    omp_free(repeated, omp_default_mem_alloc);
  }
  omp_free(cold_list, omp_default_mem_alloc);
  omp_free(hot_table, omp_default_mem_alloc);
  printf("sum %016llx\n", (unsigned long long)sum);
  return strcmp(end, "seven") == 0 ? 7 : 0;
}
