// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How little memory holds how many of the accesses: objects in order of their share per byte, added
// up. A memory of so many bytes could take at least so much, if whole objects are placed.
#pragma once

#include "analysis/aggregate.hpp"

#include <cstdint>
#include <vector>

namespace omptier {

struct DensestStep {
  std::uint32_t site = 0;  // the last one added
  std::uint64_t sites = 0; // with it
  std::uint64_t bytes = 0; // sum of their peaks
  std::uint64_t samples = 0; // of them together
  Share share;               // the same
};

// Of the sites whose bytes are known. Steps smaller than a two-hundredth of all share and of all
// bytes are joined, so there are at most some 400 however many sites there are.
std::vector<DensestStep> densest_first(const ProfileSummary& summary);

} // namespace omptier
