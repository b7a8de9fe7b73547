// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which objects go to which tier when not all fit into the fast ones: the solver of ompx_commit,
// ompx_apply and the advisor. Callers define gains, in a unit of their own.
//
// density      the assignment of largest total gain: greedy by gain per byte; then exchanges:
//                objects leave a tier, the cheapest first, so that another may enter. If at most
//                k_exact_candidates need room, have a tier to go to and are not late, all their
//                assignments are then searched depth first, cut where even filling the free room
//                with the densest of the rest could not beat the best found. After k_most_nodes the
//                best so far is taken.
// importance   one after the other by weight, each into its best tier with room (H2M's rule)
// declaration  the same in the order given
//
// A candidate that fits no tier is nowhere: it loses `loss`. No malloc, no exceptions.
#pragma once

#include "model/room.hpp"

#include <array>

namespace omptier {

inline constexpr std::size_t k_most_choices = 16; // tiers
inline constexpr std::size_t k_exact_candidates = 24;
inline constexpr unsigned k_most_nodes = 200000;
inline constexpr std::uint8_t k_nowhere = 0xff;
// Loss of being nowhere, as a fraction of the time of all memory.
inline constexpr double k_loss_of_nowhere = 1e-3;

struct Candidate : Need {
  double weight = 0;         // for the order of importance
  double loss = 0;           // of being nowhere, a positive number
  bool mandatory = false;    // served before the others
  bool late = false;         // served in the room that the others leave
  std::uint32_t allowed = 0; // tiers it may lie in, one bit each; only tiers with a capacity
  std::array<double, k_most_choices> gain{};
};

struct Problem {
  std::span<const Candidate> candidates;
  std::span<const std::uint64_t> capacity; // bytes by tier, at most k_most_choices
  std::size_t pieces = 1;                  // of time
};

enum class DecisionOrder : std::uint8_t { density = 0, importance = 1, declaration = 2 };

// chosen[i] = tier of candidates[i] or k_nowhere. False when memory for lists is refused.
bool choose_set(const Problem& problem, DecisionOrder order, std::span<std::uint8_t> chosen);

// Of equal gains the slowest; k_nowhere when no tier is allowed.
std::uint8_t best_tier(const Candidate& candidate);

} // namespace omptier
