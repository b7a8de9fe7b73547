// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What must not compile, one case a number (-DCASE=n); case 0 must. headers_compile.py tries all.
#include <ompx_memory.hpp>

#include <vector>

using ompx::traits;

inline void use(const ompx::allocator_handle &handle) {
#if CASE == 0
  (void)traits{}.pattern(ompx::access_pattern::random).importance(300).pinned(false);
  std::vector<int, ompx::allocator<int>> v(10, handle);
#elif CASE == 1 // another key's value
  (void)traits{}.pattern(ompx::access_mode::read_only);
#elif CASE == 2 // a bare number
  (void)traits{}.pattern(5103);
#elif CASE == 3 // a value of the C header
  (void)traits{}.sensitivity(ompx_atv_sensitivity_latency);
#elif CASE == 4 // strided wants the stride
  (void)traits{}.pattern(ompx::access_pattern::strided);
#elif CASE == 5 // no whole number
  (void)traits{}.importance(0.3);
#elif CASE == 6 // a value where a number is wanted
  (void)traits{}.importance(ompx::lifetime::phase);
#elif CASE == 7 // anything that converts to bool
  (void)traits{}.pinned(1);
#elif CASE == 8
  (void)traits{}.migratable("no");
#elif CASE == 9 // a text where a name is wanted
  (void)traits{}.label("table");
#elif CASE == 10 // a number where a name is wanted
  (void)traits{}.group(7);
#elif CASE == 11 // an allocator as a fallback value
  (void)traits{}.fallback(ompx_dram_mem_alloc);
#elif CASE == 12 // OpenMP's own enumerators
  (void)traits{}.partition(omp_atv_blocked);
#elif CASE == 13 // owners do not copy
  ompx::allocator_handle copy = handle;
#elif CASE == 14 // a vector would take it for a size
  std::vector<int, ompx::allocator<int>> v = handle.get();
#elif CASE == 15 // objects that want a constructor
  std::vector<int> *pointer = nullptr;
  (void)ompx::declare(pointer, 1);
#elif CASE == 16 // bool is no size
  (void)traits{}.pool_size(true);
#elif CASE == 17 // result dropped: nothing would have happened (an error by -Werror)
  traits{}.importance(3);
#elif CASE == 18 // allocators of a raw handle are made by name
  ompx::allocator<int> a = ompx_dram_mem_alloc;
#endif
  (void)handle;
}
