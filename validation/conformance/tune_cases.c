// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two arrays, and a time that depends on where the plan wants them: 100 ms, 80 more with `first` in
// NVM, 30 less with `second` there. So the best placement is known on any machine. Each start adds
// a byte to the file "starts". What the second argument says happens with `second` in NVM; what
// begins with "all-", always.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE (4 << 20)
static char* volatile first, * volatile second;

static void access_both(unsigned rounds) {
  unsigned sum = 0;
  first = malloc(SIZE), second = malloc(SIZE);
  memset(first, 1, SIZE), memset(second, 2, SIZE);
  for (unsigned round = 0; round < rounds; ++round)
    for (int i = 0; i < SIZE; i += 64)
      sum += (unsigned)first[i] + (unsigned)second[(i * 7919u) % SIZE];
  free(first), free(second);
  if (sum == 1) puts("never");
}

// Whether the plan's entry of that array begins with NVM.
static int is_in_nvm(const char* name) {
  const char* path = getenv("OMPTIER_PLAN");
  FILE* plan = path ? fopen(path, "r") : NULL;
  char line[4096];
  int here = 0, found = 0;
  while (plan && fgets(line, sizeof line, plan)) {
    if (strstr(line, "\"label\"")) here = strstr(line, name) != NULL;
    if (here && strstr(line, "\"kinds\": [\"nvm\"")) found = 1;
  }
  if (plan) fclose(plan);
  return found;
}

static unsigned count_starts(void) {
  FILE* starts = fopen("starts", "a");
  if (!starts) exit(9);
  fputc('x', starts);
  const unsigned count = (unsigned)ftell(starts);
  fclose(starts);
  return count;
}

int main(int count, char** words) {
  const unsigned starts = count_starts();
  access_both(count > 1 ? (unsigned)atoi(words[1]) : 1);
  const char* what = count > 2 ? words[2] : "";
  const int slow_first = is_in_nvm("first"), slow_second = is_in_nvm("second");
  int time = 100 + 80 * slow_first - 30 * slow_second;
  const int strange = slow_second || strncmp(what, "all-", 4) == 0;
  if (strange && strstr(what, "fail")) return 3;
  if (strange && strstr(what, "signal")) abort();
  if (strange && strstr(what, "vary")) time *= 1 + (int)(starts % 3);
  if (strange && strstr(what, "silent")) return 0;
  if (strstr(what, "wait")) usleep(200 * 1000);
  if (strange && strstr(what, "hang")) sleep(600);
  if (strstr(what, "input") && (!fgets((char[16]){0}, 16, stdin) || getchar() != 'b')) return 4;
  if (strstr(what, "limit")) printf("limit %s\n", getenv("OMPTIER_CAPACITY"));
  printf("Time: %d.0 ms\n", time);
  return 0;
}
