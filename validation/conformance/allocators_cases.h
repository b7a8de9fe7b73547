// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the cases check with: the kernel's own word on where pages are.
#pragma once

#include <linux/mempolicy.h>
#include <omp.h>
#include <ompx_memory.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int checks = 0;
static int node_of[4] = {-1, -1, -1, -1};
static unsigned long nodes_of[4]; // all nodes of a kind, one bit each

static void check(int good, const char* format, ...) {
  ++checks;
  if (good) return;
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "check %d: ", checks);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  _exit(1);
}

// "hbm=1" or, with several nodes, "dram=0+1".
static inline void read_nodes(int count, char** texts) {
  static const char* names[] = {"dram", "hbm", "nvm", "cxl"};
  for (int i = 0; i < count; ++i)
    for (int kind = 0; kind < 4; ++kind) {
      const size_t length = strlen(names[kind]);
      if (strncmp(texts[i], names[kind], length) != 0 || texts[i][length] != '=') continue;
      char* at = texts[i] + length + 1;
      node_of[kind] = atoi(at);
      do
        nodes_of[kind] |= 1ul << strtoul(at, &at, 10);
      while (*at++ == '+');
    }
}

static inline void need(int kind) {
  check(node_of[kind] >= 0, "needs memory of kind %d", kind);
}

// Bytes of the range whose page lies on a node of the kind now.
static inline size_t bytes_on_kind(const void* begin, size_t bytes, int kind) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t from = (uintptr_t)begin, to = from + bytes;
  size_t found = 0;
  for (uintptr_t at = from / page * page; at < to;) {
    void* pages[512];
    int status[512];
    unsigned long n = 0;
    for (uintptr_t next = at; n < 512 && next < to; next += page)
      pages[n++] = (void*)next;
    if (syscall(SYS_move_pages, 0, n, pages, NULL, status, 0) != 0) check(0, "move_pages");
    for (unsigned long i = 0; i < n; ++i, at += page) {
      const uintptr_t low = at > from ? at : from, high = at + page < to ? at + page : to;
      if (status[i] >= 0 && nodes_of[kind] >> status[i] & 1) found += high - low;
    }
  }
  return found;
}

// Memory of this process on a node, present; null when there is none.
static inline char* map_on_node(size_t bytes, int node) {
  char* at = (char*)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return NULL;
  const unsigned long mask = 1ul << node;
  if (syscall(SYS_mbind, at, bytes, MPOL_PREFERRED, &mask, 65ul, 0) != 0) return NULL;
  memset(at, 1, bytes);
  return at;
}
