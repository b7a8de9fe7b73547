/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Every allocator routine once, from C; also compiled as C++. The marked comments are the
 * calls libomptier.so must see, in this order and no others; the same program is run on its
 * compiler's own runtime, where it must print the same. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int aligned_to(const void* block, uintptr_t alignment) {
  return ((uintptr_t)block & (alignment - 1)) == 0;
}

int main(void) {
  /* The first routine of all: libomp is not initialised yet. */
  char* first = (char*)omp_alloc(100, omp_default_mem_alloc);
  /* HOOK attach
   * HOOK allocate size=100 alignment=0 handle=1 from=program
   * HOOK stock_allocated size=100 kept=100 handle=1 from=program */
  memset(first, 1, 100);

  omp_alloctrait_t traits[] = {{omp_atk_alignment, 64}, {omp_atk_fallback, omp_atv_null_fb}};
  omp_allocator_handle_t own = omp_init_allocator(omp_default_mem_space, 2, traits);
  /* HOOK init_allocator space=0 traits=2 first_key=2 */
  printf("own allocator: %s\n", own != omp_null_allocator ? "yes" : "no");

  char* aligned = (char*)omp_alloc(200, own);
  /* HOOK allocate size=200 alignment=0 handle=own from=program
   * HOOK stock_allocated size=200 kept=200 handle=own from=program */
  printf("aligned by trait: %d\n", aligned_to(aligned, 64));
  char* more = (char*)omp_aligned_alloc(256, 512, own);
  /* HOOK allocate size=512 alignment=256 handle=own from=program
   * HOOK stock_allocated size=512 kept=512 handle=own from=program */
  printf("aligned by routine: %d\n", aligned_to(more, 256));

  int* zeroed = (int*)omp_calloc(10, sizeof(int), omp_default_mem_alloc);
  /* HOOK allocate_zeroed count=10 size=4 alignment=0 handle=1 from=program
   * HOOK stock_allocated size=40 kept=40 handle=1 from=program */
  int* zeroed_aligned = (int*)omp_aligned_calloc(128, 32, sizeof(int), own);
  /* HOOK allocate_zeroed count=32 size=4 alignment=128 handle=own from=program
   * HOOK stock_allocated size=128 kept=128 handle=own from=program */
  int sum = 0;
  for (int i = 0; i < 10; i++)
    sum += zeroed[i];
  for (int i = 0; i < 32; i++)
    sum += zeroed_aligned[i];
  printf("zeroed: %d, aligned: %d\n", sum, aligned_to(zeroed_aligned, 128));

  for (int i = 0; i < 10; i++)
    zeroed[i] = i;
  zeroed = (int*)omp_realloc(zeroed, 1000 * sizeof(int), own, omp_default_mem_alloc);
  /* HOOK reallocate size=4000 handle=own free_handle=1 from=program
   * HOOK stock_allocated size=4000 kept=4000 handle=own from=program
   * HOOK stock_released size=40 */
  for (int i = 0; i < 10; i++)
    sum += zeroed[i];
  printf("kept by realloc: %d\n", sum);

  omp_set_default_allocator(own);
  printf("default is own: %d\n", omp_get_default_allocator() == own);
  char* by_default = (char*)omp_alloc(300, omp_null_allocator);
  /* HOOK allocate size=300 alignment=0 handle=0 from=program
   * HOOK stock_allocated size=300 kept=300 handle=0 from=program */
  printf("aligned by default: %d\n", aligned_to(by_default, 64));

  omp_free(by_default, omp_null_allocator);
  /* HOOK release block handle=0
   * HOOK stock_released size=300 */
  zeroed = (int*)omp_realloc(zeroed, 0, own, own);
  /* HOOK reallocate size=0 handle=own free_handle=own from=program
   * HOOK stock_released size=4000 */
  printf("realloc to nothing: %d\n", zeroed == NULL);
  omp_free(NULL, own);
  /* HOOK release null handle=own */
  omp_free(zeroed_aligned, own);
  /* HOOK release block handle=own
   * HOOK stock_released size=128 */
  omp_free(more, own);
  /* HOOK release block handle=own
   * HOOK stock_released size=512 */
  omp_free(aligned, own);
  /* HOOK release block handle=own
   * HOOK stock_released size=200 */
  omp_free(first, omp_default_mem_alloc);
  /* HOOK release block handle=1
   * HOOK stock_released size=100 */
  omp_set_default_allocator(omp_default_mem_alloc);
  omp_destroy_allocator(own);
  /* HOOK destroy_allocator own
   * HOOK runtime_end */
  puts("done");
  return 0;
}
