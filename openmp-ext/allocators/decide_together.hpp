// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides on several blocks together: computes gains by tier from their traits, makes the blocks of
// a group one candidate, finds the best feasible set, and assigns a tier to each block.
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
  OmpValue group = 0;               // decided as one with others of this name; 0 = none
  std::uint8_t now = k_nowhere;     // present tier; kept unless another is better
  std::uint8_t wished = k_nowhere;  // out: best tier if it were alone
  std::uint8_t decided = k_nowhere; // out
};

static_assert(k_most_tiers <= k_most_choices); // the solver handles every placed tier
using TierRoom = std::array<std::uint64_t, k_most_tiers>; // bytes by tier

// Saturating: the program chooses the sizes, and unknown room counts as unlimited.
inline std::uint64_t sum_of_bytes(std::uint64_t a, std::uint64_t b) {
  return a + std::min(b, ~a);
}

// False when there is no memory for the lists; then nothing is decided.
bool decide_together(std::span<const Tier> tiers, std::span<Wish> wishes,
                     const TierRoom& room, DecisionOrder order);

inline std::span<const Tier> placed_tiers(const Placer& placer) {
  return {placer.platform().tiers.data(), placer.tier_count()};
}
TierRoom room_now(Placer& placer);

std::uint32_t allowed_tiers(Placer& placer, const Allocator& allocator);

// The tier recorded for a block of ours; k_nowhere when unknown.
std::uint8_t tier_of(const Placer& placer, const BlockInfo& info);

} // namespace omptier
