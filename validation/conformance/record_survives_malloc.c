/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A malloc as small projects bring it along: without malloc_usable_size, and the word before a block is none
 * of the C library's. Nothing is given back. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static _Alignas(64) char heap[96 << 20];
static atomic_size_t used;

void *memalign(size_t alignment, size_t bytes) {
  const size_t all = (bytes + alignment + 32) & ~(size_t)15;
  const size_t begin = atomic_fetch_add(&used, all);
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
