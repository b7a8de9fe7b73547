// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library that takes the ompx_ spaces and allocators: what it takes never reaches libomp, what it
// leaves does, blocks pass from one to the other, and the handles of omp.h are constants of C++.
#include <cstdio>
#include <cstring>

#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

constexpr omp_alloctrait_t k_traits[] = {{ompx_atk_access_pattern, ompx_atv_access_pattern_random},
                                         {ompx_atk_migratable, omp_atv_true}};

int main() {
  // OMP_ALLOCATOR names a handle of the library's; the very first call is taken already.
  char* first = static_cast<char*>(omp_alloc(100));
  // HOOK attach
  // HOOK parse_allocator ompx_hbm_mem_alloc
  // HOOK allocate size=100 alignment=0 handle=0 from=program
  std::memset(first, 1, 100);
  std::printf("default %d\n", static_cast<int>(omp_get_default_allocator()));

  omp_alloctrait_t traits[2];
  std::memcpy(traits, k_traits, sizeof traits);
  omp_allocator_handle_t own = omp_init_allocator(ompx_nvm_mem_space, 2, traits);
  // HOOK init_allocator space=503 traits=2 first_key=5000
  std::printf("taken %d\n", static_cast<int>(own));

  int* zeroed = static_cast<int*>(omp_calloc(8, sizeof(int), ompx_cxl_mem_alloc));
  // HOOK allocate_zeroed count=8 size=4 alignment=0 handle=504 from=program
  zeroed[7] = 5;

  // From the library's memory to libomp's and back; libomp's own routines are not offered again.
  zeroed = static_cast<int*>(omp_realloc(zeroed, 400, omp_default_mem_alloc, ompx_cxl_mem_alloc));
  // HOOK reallocate size=400 handle=1 free_handle=504 from=program
  zeroed = static_cast<int*>(omp_realloc(zeroed, 800, own, omp_default_mem_alloc));
  // HOOK reallocate size=800 handle=503 free_handle=1 from=program
  std::printf("kept %d %d\n", zeroed[0], zeroed[7]);

  // A child made by fork keeps the table and the memory.
  std::fflush(stdout);
  if (pid_t child = fork(); child == 0) {
    char* mine = static_cast<char*>(omp_alloc(16, own));
    // HOOK parse_allocator ompx_hbm_mem_alloc
    // HOOK allocate size=16 alignment=0 handle=503 from=program
    omp_free(first, omp_null_allocator);
    // HOOK release block handle=0
    _exit(mine != nullptr && zeroed[7] == 5 ? 0 : 1);
  } else {
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child %d\n", status);
  }

#pragma omp parallel num_threads(1)
  // HOOK region_begin threads=1 from=program
  {
    double values[4];
#pragma omp allocate(values) allocator(ompx_dram_mem_alloc)
    // HOOK allocate size=32 alignment=0 handle=501 from=program
    values[3] = 1;
    // HOOK release block handle=501
  }
  // HOOK region_end from=program

  omp_free(zeroed, own);
  // HOOK release block handle=503
  omp_free(first);
  // HOOK release block handle=0
  omp_destroy_allocator(own);
  // HOOK destroy_allocator 503
  // HOOK runtime_end
}
