// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lifetimes and limits of a process that allocates through us: lifetime_cases CASE. Starts itself
// again for the case with stdout and stderr caught in memory, and judges what came of it. Exit 0:
// the case holds.
#define _GNU_SOURCE
#include "lifetime.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char path_of_program[4096];

const char* own_path(void) {
  return path_of_program;
}

static void say(const char* prefix, const char* format, va_list arguments) {
  char line[1024];
  int length = snprintf(line, sizeof line, "%s", prefix);
  length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, arguments);
  if (length > (int)sizeof line - 2) length = (int)sizeof line - 2;
  line[length++] = '\n';
  if (write(STDERR_FILENO, line, (size_t)length) < 0) return;
}

void check(int good, const char* format, ...) {
  if (good) return;
  va_list arguments;
  va_start(arguments, format);
  say("check: ", format, arguments);
  va_end(arguments);
  _exit(1);
}

void figure(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say("figure: ", format, arguments);
  va_end(arguments);
}

double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

unsigned count_mappings(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  unsigned lines = 0;
  for (int c = 0; maps != NULL && (c = fgetc(maps)) != EOF;)
    lines += c == '\n';
  if (maps != NULL) fclose(maps);
  return lines;
}

void await(int child, const char* what) {
  int status = 0;
  check(child > 0, "%s: no child (%s)", what, strerror(errno));
  while (waitpid(child, &status, 0) < 0)
    check(errno == EINTR, "%s: waitpid", what);
  check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: the child ended with status %x", what,
        (unsigned)status);
}

// ---- Blocks.

static unsigned char byte_of(unsigned seed, size_t at) {
  return (unsigned char)(seed * 31 + at * 7 + (at >> 12));
}

struct block take(size_t bytes, omp_allocator_handle_t allocator, unsigned seed) {
  struct block block = {omp_alloc(bytes, allocator), bytes, seed};
  for (size_t i = 0; block.at != NULL && i < bytes; ++i)
    block.at[i] = byte_of(seed, i);
  return block;
}

void verify(const struct block* block) {
  for (size_t i = 0; i < block->bytes; ++i)
    check(block->at[i] == byte_of(block->seed, i), "byte %zu of %zu is wrong", i, block->bytes);
}

void give(struct block* block) {
  if (block->at == NULL) return;
  verify(block);
  omp_free(block->at, omp_null_allocator);
  block->at = NULL;
}

static void exercise_with(unsigned seed, omp_allocator_handle_t any) {
  omp_alloctrait_t to_null[] = {{omp_atk_fallback, omp_atv_null_fb}};
  omp_alloctrait_t traits[] = {{ompx_atk_access_pattern, ompx_atv_access_pattern_random},
                               {omp_atk_alignment, 4096},
                               {omp_atk_pool_size, 3u << 20}};
  const omp_allocator_handle_t pool = omp_init_allocator(ompx_auto_mem_space, 3, traits);
  const omp_allocator_handle_t lacking = omp_init_allocator(ompx_hbm_mem_space, 1, to_null);
  const omp_allocator_handle_t handles[] = {any, ompx_dram_mem_alloc, ompx_auto_mem_alloc, pool,
                                            lacking};
  enum { k_blocks = 60 };
  struct block blocks[k_blocks] = {{0}};
  for (unsigned i = 0; i < k_blocks; ++i) {
    const size_t bytes = i % 10 == 7 ? 300000 + i * 5000 : 1 + (seed + i) * 131 % 20000;
    blocks[i] = take(bytes, handles[i % 5], seed + i);
    check(blocks[i].at != NULL || i % 5 >= 3, "no block %u", i);
    if (i % 3 == 2) give(&blocks[i - 1]);
  }
  for (unsigned i = 0; i < k_blocks; i += 4) { // grows and shrinks, keeping what it holds
    struct block* block = &blocks[i];
    if (block->at == NULL) continue;
    const size_t bytes = i % 8 == 0 ? block->bytes * 3 + 100000 : block->bytes / 2 + 1;
    unsigned char* moved = omp_realloc(block->at, bytes, ompx_dram_mem_alloc, omp_null_allocator);
    check(moved != NULL, "no realloc");
    block->at = moved;
    if (bytes < block->bytes) block->bytes = bytes;
    verify(block);
  }
  unsigned char* zero = omp_calloc(1000, 777, ompx_dram_mem_alloc);
  check(zero != NULL, "no calloc");
  for (size_t i = 0; i < 777000; ++i)
    check(zero[i] == 0, "calloc gave a byte that is not zero");
  omp_free(zero, ompx_dram_mem_alloc);
  for (unsigned i = 0; i < k_blocks; ++i)
    give(&blocks[i]);
  omp_destroy_allocator(pool);
  omp_destroy_allocator(lacking);
}

void exercise(unsigned seed) {
  exercise_with(seed, omp_default_mem_alloc);
}
void exercise_ours(unsigned seed) {
  exercise_with(seed, ompx_dram_mem_alloc);
}

void exercise_team(void) {
#pragma omp parallel num_threads(3)
  exercise(1000u * (unsigned)omp_get_thread_num());
}

// ---- One case and its judge.

static const struct lifetime_case* find_case(const char* name) {
  const struct lifetime_case* groups[] = {fork_cases, end_cases, limit_cases, refusal_cases};
  for (unsigned g = 0; g < sizeof groups / sizeof *groups; ++g)
    for (const struct lifetime_case* at = groups[g]; at->name != NULL; ++at)
      if (strcmp(at->name, name) == 0) return at;
  return NULL;
}

// What a caught stream holds, as text.
static char* text_of(int fd) {
  const off_t bytes = lseek(fd, 0, SEEK_END);
  char* text = calloc((size_t)bytes + 1, 1);
  check(text != NULL && pread(fd, text, (size_t)bytes, 0) == bytes, "cannot read what was caught");
  return text;
}

// Every warning at most once of what it is about, and none that is not wanted. Returns how many came.
static int judge_warnings(char* text, const char* wanted) {
  enum { k_most = 8 };
  char* seen[k_most];
  int found = 0;
  for (char* line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    if (strncmp(line, "OMP: Warning", 12) != 0) continue;
    check(wanted != NULL && strstr(line, wanted) != NULL, "unwanted: %s", line);
    const char* subject = strchr(line + 12, ':');
    const char* end = subject != NULL ? strchr(subject + 1, ':') : NULL;
    const size_t length = end != NULL ? (size_t)(end - line) : strlen(line);
    for (int i = 0; i < found; ++i)
      check(strncmp(seen[i], line, length) != 0, "twice: %s", line);
    check(found < k_most, "too many warnings");
    seen[found++] = line;
  }
  return found;
}

// libomp's registration of a process: one that a killed process left, of the same number, makes
// libomp ask /proc and assert that there is one; that would be another case.
static void forget_process(int process) {
  char name[80];
  snprintf(name, sizeof name, "/dev/shm/__KMP_REGISTERED_LIB_%d_%d", process, (int)getuid());
  unlink(name);
}

static int run_caught(const struct lifetime_case* this_case) {
  const int caught_out = memfd_create("out", 0), caught_err = memfd_create("err", 0);
  const pid_t child = fork();
  if (child == 0) {
    forget_process(getpid());
    dup2(caught_out, STDOUT_FILENO);
    dup2(caught_err, STDERR_FILENO);
    close(caught_out);
    close(caught_err);
    setenv("LIFETIME_INSIDE", this_case->name, 1);
    alarm(100); // a process that hangs is killed, and the case has failed
    if (this_case->prepare != NULL) this_case->prepare();
    execl(path_of_program, "lifetime_cases", this_case->name, (char*)NULL);
    check(0, "cannot execute %s", path_of_program);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child, "waitpid");
  forget_process(child);
  char* errors = text_of(caught_err);
  fputs(errors, stderr);
  const char* output = text_of(caught_out);
  check(*output == '\0', "on stdout: %s", output);
  check(WIFEXITED(status), "the process was ended by signal %d", WTERMSIG(status));
  check(WEXITSTATUS(status) == 0, "status %d", WEXITSTATUS(status));
  const int found = judge_warnings(errors, this_case->warning);
  check((found != 0) == (this_case->warning != NULL), "not said: \"%s\"", this_case->warning);
  printf("%s holds\n", this_case->name);
  return 0;
}

int main(int argc, char** argv) {
  const ssize_t length = readlink("/proc/self/exe", path_of_program, sizeof path_of_program - 1);
  const char* inside = getenv("LIFETIME_INSIDE");
  if (length < 0 && inside == NULL) return 2;
  const struct lifetime_case* this_case = argc == 2 ? find_case(argv[1]) : NULL;
  if (this_case == NULL) return fprintf(stderr, "lifetime_cases CASE\n"), 2;
  if (inside == NULL) return run_caught(this_case);
  this_case->run();
  return 0;
}
