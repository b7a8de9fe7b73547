// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A container in memory of OMPTier; fails on a runtime that is not OMPTier's.
#include <ompx_memory.hpp>

#include <cstdio>
#include <vector>

int main() {
  const ompx::allocator_handle dram(ompx_dram_mem_space,
                                    ompx::traits{}.lifetime(ompx::lifetime::program));
  const std::vector<double, ompx::allocator<double>> values(1 << 17, 1.0, dram);
  ompx_placement_t where{};
  where.struct_size = sizeof where;
  if (ompx_get_placement(values.data(), 0, &where) != 0) return 1;
  std::puts(where.reason);
  return where.required == 1 ? 0 : 1;
}
