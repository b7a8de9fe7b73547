// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kinds of memory that advice may use of a platform.
#pragma once

#include "platform/platform.hpp"

#include <vector>

namespace omptier {

// A kind the advisor may use, with the bytes it may use of it.
struct TierChoice {
  MemoryKind kind = MemoryKind::unknown;
  std::uint64_t capacity = 0;
  Figures figures;
  bool estimated = false; // some of the figures are
};

// The kinds of the platform with the smaller of their capacity and the limit; kinds limited to 0
// are left out; fastest first as the platform orders them. Tiers of one kind are taken together.
// Unknown figures are estimated.
std::vector<TierChoice> usable_tiers(const Platform& platform, const CapacityByKind& limits);

} // namespace omptier
