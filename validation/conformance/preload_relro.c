// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program whose read-only data after relocation does not end at a page, for preload_relro.py: all
// of its data behind that can be written, and all of it before cannot.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char data[3 << 16] = {1};
static void* (*const constant)(size_t) = malloc; // read-only after relocation

int main(void) {
  void* block = malloc(100); // through the table of calls, which is read-only too
  memset(data, 2, sizeof data);
  int ends[2];
  if (block == NULL || pipe(ends) != 0 || write(ends[1], "x", 1) != 1) return 1;
  // The kernel writes where a program may, and fails where it may not.
  const int writable = read(ends[0], (void*)&constant, 1) == 1;
  printf("data writable, constants %s\n", writable ? "too" : "not");
  free(block);
  return writable;
}
