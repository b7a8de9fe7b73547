// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of several blocks go to which tier when not all fit into the fast ones. Pure arithmetic on
// gains and room; what a gain is, is decided elsewhere.
//
//   density      the assignment of largest total gain. Up to k_exact_candidates the search (depth
//                first in order of gain per byte, cut where even filling the free room with the
//                densest of the rest could not beat the best found) visits at most k_most_nodes
//                assignments; the first is the greedy one, so the result is never worse than that.
//                Beyond, greedy, then exchanges of one for one while they gain.
//   importance   one after the other by weight, each into its best tier with room (H2M's rule)
//   declaration  the same in the order given
//
// A candidate that no tier takes is nowhere: it loses `loss`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace omptier {

inline constexpr std::size_t k_most_choices = 16; // tiers
inline constexpr std::size_t k_exact_candidates = 24;
inline constexpr unsigned k_most_nodes = 200000;
inline constexpr std::uint8_t k_nowhere = 0xff;

struct Candidate {
  std::uint64_t bytes = 0;
  double weight = 0;         // for the order of importance
  double loss = 0;           // of being nowhere, a positive number
  bool mandatory = false;    // served before the others
  std::uint32_t allowed = 0; // tiers it may lie in, one bit each
  std::array<double, k_most_choices> gain{};
};

enum class DecisionOrder : std::uint8_t { density = 0, importance = 1, declaration = 2 };

// chosen[i] = tier of candidates[i] or k_nowhere; scratch: as many elements, contents ignored.
// room: bytes by tier. Returns the total gain.
double choose_set(std::span<const Candidate> candidates, std::span<const std::uint64_t> room,
                  DecisionOrder order, std::span<std::uint8_t> chosen,
                  std::span<std::uint32_t> scratch);

// The allowed tier of largest gain, k_nowhere when none is allowed: what a candidate wishes.
std::uint8_t best_tier(const Candidate& candidate);

// Sum of gains, losses of those nowhere subtracted; false when the assignment does not fit or a
// tier is not allowed.
bool is_feasible(std::span<const Candidate> candidates, std::span<const std::uint64_t> room,
                 std::span<const std::uint8_t> chosen, double& gain);

} // namespace omptier
