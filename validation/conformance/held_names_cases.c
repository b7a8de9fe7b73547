// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program with every kind of name: blocks by a helper that is inlined and by one that is not, a
// mapping, statics, regions met on two ways, phases and loops. Argument "fork": a child does the
// same; "unlimited": takes back a limit of file sizes that was set for its parent alone; "killed":
// ends by a signal.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { count = 1 << 17 };

static double field[count];

struct mesh {
  double *density;
  double *pressure;
};

static inline double *inlined(void) {
  double *values = malloc(count * sizeof *values);
  memset(values, 1, count * sizeof *values);
  return values;
}

__attribute__((noinline)) static void fill(struct mesh *mesh) {
  mesh->density = inlined();
  mesh->pressure = inlined();
}

__attribute__((noinline)) static void add(double *to, const double *from) {
#pragma omp parallel for
  for (int i = 0; i < count; ++i)
    to[i] += from[i] * 0.5;
}

static void work(void) {
  struct mesh mesh;
  fill(&mesh);
  double *mapped = mmap(0, count * sizeof *mapped, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 200; ++i) {
    add(field, mesh.density);
    add(mapped, mesh.pressure);
  }
  munmap(mapped, count * sizeof *mapped);
  free(mesh.density);
  free(mesh.pressure);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  struct rlimit limit;
  if (strcmp(what, "unlimited") == 0 && getrlimit(RLIMIT_FSIZE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
  }
  const pid_t child = strcmp(what, "fork") == 0 ? fork() : -1;
  work();
  if (strcmp(what, "killed") == 0) {
    sleep(1); // the log is written now and then
    raise(SIGKILL);
  }
  if (child > 0) waitpid(child, 0, 0);
  return 0;
}
