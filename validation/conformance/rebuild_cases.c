// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One program in three builds for rebuild.py: CHANGE 0 is what was recorded; in 1 only things
// around the allocations changed (calls, lines, order of functions); in 2 allocations were
// inserted, exchanged and removed. Every object is called after its variable; at the end each is
// printed with the reason that the runtime gives for its place. Arguments: "nothing" allocates
// nothing, "less" leaves one object out, "fork" does that, too, and has a child that ends by
// itself. BEFORE says what happens before main: "close" closes every descriptor and opens others,
// "hide" takes the plan's file away, "exec" closes all and starts the program anew, "daemon" goes
// on in a child that does so when a file "go" is there, writing to daemon.out.
#include <fcntl.h>
#include <omp.h>
#include <ompx_memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CHANGE
#error "CHANGE is 0, 1 or 2"
#endif
#define APART __attribute__((noinline))

enum { k_bytes = 4 << 20, k_most = 32 };

static struct {
  const char* name;
  void* block;
} objects[k_most];
static unsigned object_count;
static volatile unsigned effect;
static const char* volatile how = "all"; // asked deep inside, so that main stays one straight path

#if CHANGE
APART static void other_work(unsigned times) {
  for (unsigned i = 0; i < times; ++i)
    effect = effect + i;
}
#endif

static void close_all(void) {
  if (syscall(SYS_close_range, 3u, ~0u, 0u) != 0) abort();
}

static void wait_in_child(void) {
  if (fork() != 0) _exit(0);
  const int out = open("daemon.out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) abort();
  for (int tries = 0; access("go", F_OK) != 0 && tries < 4000; ++tries)
    usleep(5000);
}

__attribute__((constructor)) static void before_main(int count, char** arguments) {
  const char* before = getenv("BEFORE");
  if (before == NULL || count < 1) return;
  if (strcmp(before, "hide") == 0 && unlink(getenv("OMPTIER_PLAN")) != 0) abort();
  if (strcmp(before, "daemon") == 0) wait_in_child();
  if (strcmp(before, "hide") != 0) close_all();
  for (int i = 0; i < 20 && strcmp(before, "close") == 0; ++i)
    if (open("/dev/null", O_RDONLY) < 0) abort();
  if (strcmp(before, "exec") != 0 && strcmp(before, "daemon") != 0) return;
  unsetenv("BEFORE");
  execv("/proc/self/exe", arguments);
  abort();
}

APART static void note(const char* name, void* block) {
  if (block == NULL) abort();
  memset(block, 1, k_bytes);
  objects[object_count].name = name;
  objects[object_count++].block = block;
}
#define NOTE(variable) note(#variable, variable)

// What programs call instead of omp_alloc.
APART static void* allocate(size_t bytes) {
#if CHANGE
  other_work(2);
#endif
  void* memory = omp_alloc(bytes, omp_default_mem_alloc);
  effect = effect + 1;
  return memory;
}

// The compiler makes a copy of it for the only argument it is ever given; not in the changed
// builds.
APART static void make_ghost(size_t bytes, unsigned weight) {
  void* ghost = omp_alloc(bytes * weight, omp_default_mem_alloc);
  if (bytes == k_bytes) NOTE(ghost);
}

#if CHANGE
APART static void make_mesh(void) {
  other_work(3);
  void* mesh = allocate(k_bytes);
  NOTE(mesh);
}
#endif

static void make_halo(void) {
  void* halo = omp_alloc(k_bytes, omp_default_mem_alloc);
#if CHANGE
  other_work(4);
#endif
#if CHANGE == 2
  void* between = omp_alloc(k_bytes, omp_default_mem_alloc);
  NOTE(between);
#endif
  void* edge = omp_alloc(k_bytes, omp_default_mem_alloc);
  NOTE(halo);
  NOTE(edge);
}

#if !CHANGE
APART static void make_mesh(void) {
  void* mesh = allocate(k_bytes);
  NOTE(mesh);
}
#endif

#if CHANGE < 2
APART static void make_gone(void) {
  if (strcmp(how, "all") != 0) return;
  void* gone = omp_alloc(k_bytes, omp_default_mem_alloc);
  NOTE(gone);
}
#endif

static void* (*volatile chosen)(size_t) = allocate;

APART static void print_objects(void) {
  for (unsigned i = 0; i < object_count; ++i) {
    ompx_placement_t placement = {.struct_size = sizeof placement};
    const int status = ompx_get_placement(objects[i].block, 0, &placement);
    printf("%s|%s\n", objects[i].name, status == 0 ? placement.reason : "");
  }
}

APART static void fork_and_allocate(void) {
  if (strcmp(how, "fork") != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    omp_free(omp_alloc(k_bytes, omp_default_mem_alloc), omp_default_mem_alloc);
    exit(3);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3) abort();
}

int main(int count, char** arguments) {
  if (count > 1) how = arguments[1];
  omp_set_num_threads(2); // starts the runtime
  if (strcmp(how, "nothing") == 0) return 0;
#if CHANGE
  other_work(1);
  make_mesh();
#endif
  void* grid = allocate(k_bytes);
#if CHANGE == 2
  void* extra = allocate(k_bytes);
  void* list = allocate(k_bytes);
  void* table = allocate(k_bytes);
  NOTE(extra);
#else
  void* table = allocate(k_bytes);
#if CHANGE
  other_work(5);
#endif
  void* list = allocate(k_bytes);
#endif
  NOTE(grid);
  NOTE(table);
  NOTE(list);
  make_halo();
#if CHANGE
  make_ghost(k_bytes / 2 * 2, 1 + (effect == 12345));
#else
  make_mesh();
  make_ghost(k_bytes, 1);
#endif
#if CHANGE < 2
  make_gone();
#endif
  fork_and_allocate();
  void* field = chosen(k_bytes);
  NOTE(field);
  print_objects();
  return 0;
}
