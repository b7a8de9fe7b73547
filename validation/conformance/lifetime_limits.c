// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Processes with little of something: address space, descriptors, stack, standard streams, a usual
// locale; a process with more rights than its user; signal handlers that use malloc in between.
#define _GNU_SOURCE
#include "lifetime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static void limit(int resource, rlim_t most) {
  struct rlimit values;
  check(getrlimit(resource, &values) == 0, "getrlimit");
  values.rlim_cur = most;
  check(setrlimit(resource, &values) == 0, "setrlimit");
}

static void everything(void) {
  exercise(1);
  exercise_team();
}

static void few_addresses(void) {
  limit(RLIMIT_AS, 1ul << 30);
}
static void some_addresses(void) {
  limit(RLIMIT_AS, 16ul << 30);
}

// Blocks until the address space is used up: refused, and all right again when they are freed.
static void case_address_space(void) {
  everything();
  omp_alloctrait_t traits[] = {{ompx_atk_placement, ompx_atv_placement_preferred},
                               {omp_atk_fallback, omp_atv_null_fb}};
  const omp_allocator_handle_t preferred = omp_init_allocator(ompx_dram_mem_space, 2, traits);
  enum { k_most = 1000 };
  static void* blocks[k_most];
  int count = 0;
  while (count < k_most && (blocks[count] = omp_alloc(64u << 20, preferred)) != NULL)
    ++count;
  figure("%d blocks of 64 MiB within the limit", count);
  check(count < k_most, "no end of the address space");
  while (count > 0)
    omp_free(blocks[--count], preferred);
  everything();
}

// No descriptor is free when the runtime starts, nor when it looks at the machine.
static void case_no_descriptors(void) {
  limit(RLIMIT_NOFILE, 3);
  everything();
}
// The runtime has started, the machine is not looked at yet.
static void case_no_descriptors_later(void) {
  exercise_team();
  limit(RLIMIT_NOFILE, 3);
  everything();
  limit(RLIMIT_NOFILE, 100);
  everything();
}
static void case_no_descriptors_at_discovery(void) {
  omp_free(omp_alloc(10, omp_default_mem_alloc), omp_default_mem_alloc);
  limit(RLIMIT_NOFILE, 3);
  everything();
}

static void close_streams(void) {
  fcntl(STDERR_FILENO, F_SETFD, FD_CLOEXEC); // until exec has succeeded
  close(STDIN_FILENO);
  close(STDOUT_FILENO);
}

// The first file the program opens gets the number of stdout: nothing of ours may be in it.
static void case_closed_streams(void) {
  everything();
  int files[3];
  for (int i = 0; i < 3; ++i) {
    files[i] = memfd_create("file", 0);
    check(files[i] == i, "descriptor %d instead of %d: one of ours is open", files[i], i);
  }
  everything();
  for (int i = 0; i < 3; ++i)
    check(lseek(files[i], 0, SEEK_END) == 0, "something was written to descriptor %d", i);
}

static void odd_locale(void) {
  setenv("LANG", "xx_YY.no-such", 1);
  setenv("LC_ALL", "tr_TR.UTF-8", 1);
  setenv("LC_NUMERIC", "de_DE.UTF-8", 1);
}
static void case_locale(void) {
  setlocale(LC_ALL, "");
  everything();
}

// ---- Stacks.

static void small_stacks(void) {
  limit(RLIMIT_STACK, 256 << 10);
  setenv("OMP_STACKSIZE", "64K", 1);
}
static void* exercise_in_thread(void* unused) {
  exercise(3);
  const int sink = open("/dev/null", O_WRONLY);
  check(ompx_dump(sink) == 0, "ompx_dump");
  close(sink);
  ompx_apply(ompx_order_density, NULL);
  return unused;
}
static void case_small_stacks(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  for (int i = 0; i < 4; ++i) { // the first of them finds out what memory there is
    pthread_t thread;
    check(pthread_create(&thread, &attributes, exercise_in_thread, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
  }
  exercise_team();
}

// ---- Signals.

static volatile long interruptions;
static void use_malloc(int signal_number) {
  (void)signal_number;
  const int saved = errno;
  char* text = malloc(1000 + (size_t)interruptions % 5000);
  if (text != NULL) snprintf(text, 100, "%ld", interruptions);
  free(text);
  ++interruptions;
  errno = saved;
}

// While we allocate, handlers use malloc: legal as long as they interrupt no malloc, so nothing of
// ours may call it. Nor may a system call of ours that is interrupted be taken for refused.
static void case_signals(void) {
  omp_free(omp_alloc(100, ompx_dram_mem_alloc), ompx_dram_mem_alloc);
  const struct sigaction action = {.sa_handler = use_malloc}; // no SA_RESTART
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval often = {{0, 200}, {0, 200}};
  const struct itimerval never = {{0, 0}, {0, 0}};
  struct block blocks[16] = {{0}};
  setitimer(ITIMER_REAL, &often, NULL);
  const double begin = seconds();
  for (unsigned i = 0; seconds() - begin < 1.5; ++i) {
    struct block* block = &blocks[i % 16];
    give(block);
    const size_t bytes = i % 8 == 7 ? 300000 + i % 50 * 40000 : i % 30000 + 1;
    *block = take(bytes, i % 2 == 0 ? ompx_dram_mem_alloc : ompx_auto_mem_alloc, i);
    check(block->at != NULL, "no block");
    ompx_placement_t placement = {.struct_size = sizeof placement};
    check(ompx_get_placement(block->at, 0, &placement) == 0 && placement.unqueried == 0,
          "a query was interrupted");
    check(placement.wanted_kind == ompx_kind_dram || i % 2 == 1, "a block fell back: %s",
          placement.reason);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  figure("%ld handlers ran in between", interruptions);
  check(interruptions > 100, "only %ld handlers ran", interruptions);
  for (unsigned i = 0; i < 16; ++i)
    give(&blocks[i]);
}

// ---- More rights than the user.

// Executes a copy of the program that has another group by its file: the kernel then says
// AT_SECURE.
static void with_more_rights(void) {
  char copy[] = "/tmp/lifetime-secure-XXXXXX";
  const int to = mkstemp(copy), from = open(own_path(), O_RDONLY | O_CLOEXEC);
  check(to >= 0 && from >= 0, "no copy");
  char bytes[65536];
  for (ssize_t n = 0; (n = read(from, bytes, sizeof bytes)) > 0;)
    check(write(to, bytes, (size_t)n) == n, "write");
  gid_t groups[64];
  const int count = getgroups(64, groups);
  gid_t other = getgid() + 1;
  for (int i = 0; i < count; ++i)
    if (groups[i] != getgid()) other = groups[i];
  check(fchown(to, (uid_t)-1, other) == 0, "the user has no second group to give the file");
  check(fchmod(to, 02755) == 0, "fchmod");
  close(to);
  setenv("LIFETIME_COPY", copy, 1);
  setenv("OMPTIER_CAPACITY", "dram:0", 1);  // ignored in such a process,
  setenv("OMPTIER_PLAN", "/etc/passwd", 1); // above all names of files
  execl(copy, "lifetime_cases", getenv("LIFETIME_INSIDE"), (char*)NULL);
  check(0, "cannot execute the copy");
}
static void case_more_rights(void) {
  unlink(getenv("LIFETIME_COPY"));
  check(getauxval(AT_SECURE) != 0, "the kernel does not take this process for a set-group one");
  everything();
}

const struct lifetime_case limit_cases[] = {
    {"address-space-1g", case_address_space, few_addresses, "the fallback is taken"},
    {"address-space-16g", case_address_space, some_addresses, "address space"},
    {"no-descriptors", case_no_descriptors, NULL, "memory is not placed"},
    {"no-descriptors-later", case_no_descriptors_later, NULL, NULL},
    {"no-descriptors-at-discovery", case_no_descriptors_at_discovery, NULL, "memory is not placed"},
    {"closed-streams", case_closed_streams, close_streams, NULL},
    {"locale", case_locale, odd_locale, NULL},
    {"small-stacks", case_small_stacks, small_stacks, NULL},
    {"signals", case_signals, NULL, NULL},
    {"more-rights", case_more_rights, with_more_rights, "more rights than its user"},
    {NULL, NULL, NULL, NULL}};
