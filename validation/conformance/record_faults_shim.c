// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For record_faults.py, preloaded into the recorded program: FAULT=full lets files take no more
// after 8 KiB, FAULT=proc closes /proc (as a container without it, or another user's), FAULT=perf
// refuses perf_event_open as perf_event_paranoid=3 does. Also a library that is loaded and
// unloaded.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fault_is(const char* name) {
  const char* fault = getenv("FAULT");
  return fault != NULL && strcmp(fault, name) == 0 && getenv("OMP_TOOL_LIBRARIES") != NULL;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int is_full(int fd, size_t count) {
  static size_t written;
  struct stat status;
  if (!fault_is("full") || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
      (written += count) <= 8192)
    return 0;
  errno = ENOSPC;
  return 1;
}

static int is_closed(const char* path) {
  if (path == NULL || strncmp(path, "/proc/", 6) != 0 || !fault_is("proc")) return 0;
  errno = EACCES;
  return 1;
}
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = va_arg(more, int);
  va_end(more);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
FILE* fopen(const char* path, const char* mode) {
  return is_closed(path) ? NULL : NEXT(fopen)(path, mode);
}
FILE* fopen64(const char* path, const char* mode) __attribute__((alias("fopen")));
ssize_t readlink(const char* path, char* text, size_t size) {
  return is_closed(path) ? -1 : NEXT(readlink)(path, text, size);
}
long syscall(long number, ...) {
  long a[6];
  va_list more;
  va_start(more, number);
  for (int i = 0; i < 6; ++i)
    a[i] = va_arg(more, long);
  va_end(more);
  if (number == SYS_perf_event_open && fault_is("perf")) {
    errno = EACCES;
    return -1;
  }
  if (number == SYS_write && is_full((int)a[0], (size_t)a[2])) return -1;
  if (number == SYS_openat && is_closed((const char*)a[1])) return -1;
  if (number == SYS_open && is_closed((const char*)a[0])) return -1;
  static __typeof__(&syscall) next;
  if (next == NULL) next = NEXT(syscall);
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

ssize_t write(int fd, const void* bytes, size_t count) {
  return syscall(SYS_write, fd, bytes, count);
}

__attribute__((noinline)) void* take_in_library(void) {
  void* block = malloc(100000);
  if (block != NULL) memset(block, 1, 100000);
  return block;
}
