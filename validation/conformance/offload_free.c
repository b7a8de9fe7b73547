// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of our allocators that libomp itself holds (fallbacks), freed and resized while an offload
// runtime is loaded: libomp then looks into the allocator that the caller names. The offload
// runtime is made up of two functions that libomp finds by name.
#include <omp.h>
#include <ompx_memory.h>
#include <stdio.h>
#include <string.h>

static int unlocked;
void* llvm_omp_target_lock_mem(void* block, size_t bytes, int device) {
  (void)bytes, (void)device;
  return block;
}
void llvm_omp_target_unlock_mem(void* block, int device) {
  (void)block, (void)device;
  ++unlocked;
}

static int is_bad(int wrong, const char* what) {
  if (wrong) fprintf(stderr, "%s\n", what);
  return wrong;
}

int main(void) {
  // This machine has none: libomp's default memory serves.
  const omp_allocator_handle_t absent = omp_init_allocator(ompx_nvm_mem_space, 0, NULL);
  char* block = omp_alloc(1000, absent);
  if (is_bad(block == NULL, "no block")) return 1;
  memset(block, 'x', 1000);
  omp_free(omp_alloc(500, absent), absent);
  block = omp_realloc(block, 3000, absent, absent);
  if (is_bad(block == NULL || block[999] != 'x', "not resized")) return 1;
  block = omp_realloc(block, 2000, omp_default_mem_alloc, absent);
  if (is_bad(block == NULL || block[999] != 'x', "not resized into libomp's own")) return 1;
  omp_free(block, omp_default_mem_alloc);
  return is_bad(unlocked != 0, "unlocked what was never locked");
}
