// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a new page costs beside the program's own accesses: the kernel clears it before the program
// touches it first.
//
//   small page   nothing. The clear brings the lines into a cache, where the program's first stores
//                find them: one miss in place of the other
//   huge page    k_clears_of_huge_page streamed stores of each line: the page is larger than what a
//                cache keeps of it, so that the program's stores miss again
//
// Measured on the virtual machine (icelake-optane, last-level cache 1 MiB): an array of 24 MiB that
// is allocated anew and filled has 1.03 stores a line in 4 KiB pages, 2.51 in huge ones. (Debian's
// kernel clears a huge page twice, init_on_alloc; half of the second time hits the cache.)
#pragma once

#include "model/cost.hpp"

#include <cstdint>

namespace omptier {

inline constexpr double k_clears_of_huge_page = 1.5;
inline constexpr std::uint64_t k_huge_page_bytes = std::uint64_t{2} << 20;

// Of bytes of huge pages that the kernel clears.
inline Demand first_touch_demand(double bytes) {
  Demand demand;
  demand.of(Manner::streamed_store) = k_clears_of_huge_page * bytes / k_line_bytes;
  return demand;
}

} // namespace omptier
