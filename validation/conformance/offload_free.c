// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of our allocators that libomp itself holds (fallbacks), freed and resized while an offload
// runtime is loaded: libomp then looks into the allocator that the caller names. And memory of
// devices, which libomp recognises by nothing but that allocator. The offload runtime is made up of
// functions that libomp finds by name.
#include <omp.h>
#include <ompx_memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int unlocked, device_blocks;

void* llvm_omp_target_lock_mem(void* block, size_t bytes, int device) {
  (void)bytes, (void)device;
  return block;
}
void llvm_omp_target_unlock_mem(void* block, int device) {
  (void)block, (void)device;
  ++unlocked;
}

// The host can read neither the block nor what lies in front of it.
static void* take_on_device(size_t bytes, int device) {
  (void)bytes, (void)device;
  char* at = mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return NULL;
  ++device_blocks;
  return at + (1 << 15);
}
static void give_on_device(void* block, int device) {
  (void)device;
  munmap((char*)block - (1 << 15), 1 << 16);
  --device_blocks;
}
#define MEMORY_OF(kind)                                                                            \
  void* llvm_omp_target_alloc_##kind(size_t bytes, int device) {                                   \
    return take_on_device(bytes, device);                                                          \
  }                                                                                                \
  void llvm_omp_target_free_##kind(void* block, int device) { give_on_device(block, device); }
MEMORY_OF(host)
MEMORY_OF(shared)
MEMORY_OF(device)

static void check(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static char* filled(void* block) {
  check(block != NULL, "no block");
  return memset(block, 'x', 1000);
}
static char* resized(char* block, size_t bytes, omp_allocator_handle_t to,
                     omp_allocator_handle_t from) {
  block = omp_realloc(block, bytes, to, from);
  check(block != NULL && block[0] == 'x' && block[999] == 'x', "not resized");
  return block;
}

static void free_in_each_way(omp_allocator_handle_t allocator) {
  omp_free(filled(omp_alloc(1000, allocator)), allocator);
  omp_free(filled(omp_calloc(10, 100, allocator)), allocator);
  omp_free(filled(omp_aligned_alloc(256, 1024, allocator)), allocator);
  omp_free(filled(omp_alloc(1000, allocator)), omp_null_allocator);

  char* block = filled(omp_alloc(1000, allocator));
  block = resized(block, 5000, allocator, allocator);
  block = resized(block, 9000, omp_default_mem_alloc, allocator);
  block = resized(block, 3000, omp_default_mem_alloc, omp_default_mem_alloc);
  block = resized(block, 4000, allocator, omp_default_mem_alloc);
  check(omp_realloc(block, 0, allocator, allocator) == NULL, "resized to nothing, and yet a block");
  block = filled(omp_alloc(1000, allocator));
  block = resized(block, 7000, omp_null_allocator, allocator); // whose it is then, runtimes differ
  omp_free(block, omp_null_allocator);
  check(omp_realloc(NULL, 0, allocator, allocator) == NULL, "a block of nothing");
  omp_free(NULL, allocator);
}

// Not with a libomp that asks the offload runtime otherwise.
static void free_memory_of_devices(void) {
  const omp_allocator_handle_t device = llvm_omp_target_device_mem_alloc;
  void* block = omp_alloc(1000, device);
  if (device_blocks == 0) return omp_free(block, device);
  omp_free(block, device);
  check(device_blocks == 0, "memory of a device is not given back");
  omp_realloc(omp_alloc(1000, device), 0, device, device);
  check(device_blocks == 0, "memory of a device that is resized to nothing is not given back");
}

int main(void) {
  // Ours: of a kind that this machine lacks, and with a pool that is too small.
  omp_alloctrait_t pool[] = {{omp_atk_pool_size, 16}};
  const omp_allocator_handle_t absent = omp_init_allocator(ompx_nvm_mem_space, 0, NULL);
  const omp_allocator_handle_t small = omp_init_allocator(ompx_dram_mem_space, 1, pool);
  // libomp's, which keeps its handle.
  omp_alloctrait_t aligned[] = {{omp_atk_alignment, 256}};
  const omp_allocator_handle_t theirs = omp_init_allocator(omp_default_mem_space, 1, aligned);
  for (int i = 0; i < 100; ++i) {
    free_in_each_way(absent);
    free_in_each_way(small);
    free_in_each_way(ompx_nvm_mem_alloc);
    free_in_each_way(theirs);
    free_memory_of_devices();
  }
  void* late = omp_alloc(1000, absent);
  omp_destroy_allocator(absent);
  omp_free(late, absent);
  omp_destroy_allocator(small);
  omp_destroy_allocator(theirs);
  check(unlocked == 0, "unlocked what was never locked");
  return 0;
}
