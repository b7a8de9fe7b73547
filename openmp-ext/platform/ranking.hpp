// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders memories by a preference: the one place that defines "better".
#pragma once

#include "platform/choice.hpp"

#include <span>
#include <vector>

namespace omptier {

struct Ranked {
  MemoryKind kind = MemoryKind::unknown;
  Figures figures; // as seen from where it matters; 0 = unknown
  std::uint64_t capacity = 0;
  unsigned distance = 0; // 0 = unknown
};

// Mean of read and write; the known one if only one is known; 0 if neither is.
double mean_bandwidth(const Figures& figures);

// Indices of the memories, best first; equal ones keep their order.
std::vector<std::size_t> rank(std::span<const Ranked> memories, Preference preference);

} // namespace omptier
