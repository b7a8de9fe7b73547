/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A malloc as small projects bring it along: without malloc_usable_size, and the word before a block is none
 * of the C library's. Nothing is given back. It maps and unmaps under a lock of its own, as others do. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static _Alignas(64) char heap[96 << 20];
static size_t used;
static unsigned calls;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void map_and_unmap(void) {
  const size_t page = 4096;
  void *mapped = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped != MAP_FAILED) munmap(mapped, page);
}

void *memalign(size_t alignment, size_t bytes) {
  const size_t all = (bytes + alignment + 32) & ~(size_t)15;
  pthread_mutex_lock(&lock);
  const size_t begin = used;
  if (begin + all <= sizeof heap) used += all;
  if (++calls % 16 == 0) map_and_unmap();
  pthread_mutex_unlock(&lock);
  if (begin + all > sizeof heap) return NULL;
  const uintptr_t at = ((uintptr_t)(heap + begin) + 16 + alignment - 1) & ~(uintptr_t)(alignment - 1);
  ((size_t *)at)[-2] = bytes;
  ((size_t *)at)[-1] = 0xfeedfacecafe0008;
  return (void *)at;
}
void *malloc(size_t bytes) {
  return memalign(16, bytes);
}
void free(void *block) {
  (void)block;
}
void *calloc(size_t count, size_t size) {
  return malloc(count * size);
}
void *realloc(void *block, size_t bytes) {
  void *fresh = malloc(bytes);
  if (fresh == NULL || block == NULL) return fresh;
  const size_t old = ((size_t *)block)[-2];
  return memcpy(fresh, block, old < bytes ? old : bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}
int posix_memalign(void **result, size_t alignment, size_t bytes) {
  *result = memalign(alignment, bytes);
  return *result == NULL ? 12 : 0;
}
