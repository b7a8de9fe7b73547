// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel or a container that refuses: the NUMA calls by a seccomp filter, /sys and /proc by empty
// file systems over them. The program runs on; what cannot be done is said once.
#define _GNU_SOURCE
#include "lifetime.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// The calls answer with an error from now on, in this process and what it executes.
static void refuse_calls(const int* numbers, unsigned count, int error) {
  struct sock_filter program[40];
  unsigned short length = 0;
  program[length++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (unsigned i = 0; i < count; ++i) {
    program[length++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i], 0, 1);
    program[length++] = (struct sock_filter)BPF_STMT(
        BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA));
  }
  program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog filter = {length, program};
  check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS");
  check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0, "no seccomp: %s",
        strerror(errno));
}

static const int numa_calls[] = {SYS_mbind, SYS_move_pages, SYS_set_mempolicy, SYS_get_mempolicy,
                                 SYS_migrate_pages};

static void refuse_numa_eperm(void) {
  refuse_calls(numa_calls, 5, EPERM);
}
static void refuse_numa_enosys(void) {
  refuse_calls(numa_calls, 5, ENOSYS);
}
static void refuse_query_only(void) {
  const int calls[] = {SYS_move_pages};
  refuse_calls(calls, 1, EPERM);
}
static void refuse_policies_only(void) {
  const int calls[] = {SYS_mbind};
  refuse_calls(calls, 1, EPERM);
}
// Of a sandbox older than these calls.
static void refuse_advice(void) {
  const int calls[] = {SYS_madvise};
  refuse_calls(calls, 1, EINVAL);
}

static void case_refused(void) {
  exercise_team();
  omp_alloctrait_t traits[] = {{ompx_atk_importance, 10}};
  const omp_allocator_handle_t allocator = omp_init_allocator(ompx_auto_mem_space, 1, traits);
  struct block block = take(3 << 20, allocator, 1);
  check(block.at != NULL, "no block");
  ompx_placement_t placement = {.struct_size = sizeof placement};
  check(ompx_get_placement(block.at, 0, &placement) == 0 && placement.block_bytes == 3u << 20,
        "the block is not known");
  size_t counted = placement.untouched + placement.unqueried;
  for (int kind = 0; kind < 5; ++kind)
    counted += placement.bytes[kind];
  check(counted == 3u << 20, "%zu bytes counted", counted);
  ompx_apply(ompx_order_density, NULL);
  give(&block);
  exercise_team();
}

static void empty_folder(const char* at) {
  if (unshare(CLONE_NEWNS) != 0)
    check(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0, "no mount namespace: %s", strerror(errno));
  mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
  check(mount("none", at, "tmpfs", 0, "size=64k") == 0, "tmpfs over %s: %s", at, strerror(errno));
}
static void without_sys(void) {
  empty_folder("/sys");
}
static void without_proc(void) {
  empty_folder("/proc");
}
static void without_both(void) {
  empty_folder("/sys");
  empty_folder("/proc");
}

const struct lifetime_case refusal_cases[] = {
    {"numa-eperm", case_refused, refuse_numa_eperm, "refuses"},
    {"numa-enosys", case_refused, refuse_numa_enosys, "refuses"},
    {"query-refused", case_refused, refuse_query_only, "refuses"},
    {"policies-refused", case_refused, refuse_policies_only, "refuses"},
    {"advice-refused", case_refused, refuse_advice, NULL},
    {"no-sys", case_refused, without_sys, "memory is not placed"},
    {"no-proc", case_refused, without_proc, NULL},
    {"no-sys-no-proc", case_refused, without_both, "memory is not placed"},
    {NULL, NULL, NULL, NULL}};
