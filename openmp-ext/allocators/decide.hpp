// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several blocks decided together: from their traits to gains by tier, blocks of one group made one
// candidate, the best feasible set, and back to a tier for each block.
#pragma once

#include "allocators/allocation.hpp"
#include "model/solver.hpp"

#include <algorithm>

namespace omptier {

struct Wish { // one block to decide on
  std::uint64_t bytes = 0;
  const TraitSet* traits = nullptr;
  double share = 1;                 // of its allocator's weight: bytes over all its live bytes
  std::uint32_t allowed = 0;        // tiers, one bit each
  bool mandatory = false;           // required
  OmpValue group = 0;               // decided as one with others of the same name; 0 = none
  std::uint8_t now = k_nowhere;     // tier it lies in; kept where another is not better
  std::uint8_t wished = k_nowhere;  // out: best tier if it were alone
  std::uint8_t decided = k_nowhere; // out
};

static_assert(k_most_tiers <= k_most_choices); // the solver takes every tier that is placed on
using TierRoom = std::array<std::uint64_t, k_most_tiers>; // bytes by tier

// Saturating: sizes are the program's word, and room that cannot be known is as good as unlimited.
inline std::uint64_t sum_of_bytes(std::uint64_t a, std::uint64_t b) {
  return a + std::min(b, ~a);
}

// False when memory for the lists is refused: nothing decided.
bool decide_together(std::span<const Tier> tiers, std::span<Wish> wishes,
                     const TierRoom& room, DecisionOrder order);

// The tiers that the placer places on, and what they have room for now.
inline std::span<const Tier> placed_tiers(const Placer& placer) {
  return {placer.platform().tiers.data(), placer.tier_count()};
}
TierRoom room_now(Placer& placer);

// The tiers that an allocator's blocks may lie in.
std::uint32_t allowed_tiers(Placer& placer, const Allocator& allocator);

// The tier that a block of ours lies in by its record; k_nowhere when unknown.
std::uint8_t tier_of(const Placer& placer, const BlockInfo& info);

} // namespace omptier
