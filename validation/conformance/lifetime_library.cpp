// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Other people's libraries: static C++ objects whose destructors check and free memory of ours
// while the process ends. Built three times: loaded and unloaded (dlclose), and linked twice, once
// before and once behind the OpenMP runtime, so that one is destroyed before it and one after it.
#include "lifetime.h"

#include <vector>

#ifndef KEEPS
#define KEEPS library_keeps
#endif

namespace {

unsigned char expected(size_t at) {
  return static_cast<unsigned char>(at * 7 + (at >> 12)); // seed 0 of lifetime_cases.c
}

struct Keeper {
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  ~Keeper() {
    for (const auto& [block, bytes] : blocks) {
      for (size_t i = 0; i < bytes; ++i)
        if (block[i] != expected(i)) __builtin_trap();
      omp_free(block, omp_null_allocator);
    }
    void* late = omp_alloc(1000, ompx_dram_mem_alloc);
    if (late == nullptr) __builtin_trap();
    omp_free(late, omp_null_allocator);
  }
};

Keeper keeper;

} // namespace

extern "C" {
void* library_allocate(size_t bytes);
void KEEPS(void* block, size_t bytes);

void* library_allocate(size_t bytes) {
  return omp_alloc(bytes, ompx_dram_mem_alloc);
}

void KEEPS(void* block, size_t bytes) {
  keeper.blocks.emplace_back(static_cast<unsigned char*>(block), bytes);
}
}
