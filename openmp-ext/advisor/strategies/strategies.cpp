// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of strategies.
#include "advisor/strategies/strategies.hpp"

#include <algorithm>
#include <array>

namespace omptier {
namespace {

constexpr std::string_view k_h2m = "Klinkenberg et al., H2M, FGCS 2023";
constexpr std::string_view k_membrain = "Olson et al., MemBrain, NAS 2018";

const std::array k_strategies = {
    FieldStrategy{"first-come", "in order of allocation, into the fastest kind with room",
                  "numactl --preferred", place_first_come},
    FieldStrategy{"h2m", "by importance, where latency or bandwidth is best, as caches serve it",
                  k_h2m, place_h2m},
    FieldStrategy{"idp", "knapsack of the modelled access time saved", k_h2m, place_idp},
    FieldStrategy{"idp-lt", "the same, only sites alive together compete", k_h2m, place_idp_lt},
    FieldStrategy{"pbdp", "the same for each phase, against the time of moving", k_h2m, place_pbdp,
                  moves_of_pbdp},
    FieldStrategy{"ecohmem", "misses per byte, then lifetimes, then bandwidth classes",
                  "Jorda et al., ecoHMEM, Cluster 2022", place_ecohmem},
    FieldStrategy{"membrain", "knapsack of the bandwidth", k_membrain, place_membrain},
    FieldStrategy{"hotset", "by bandwidth per byte until one does not fit", k_membrain,
                  place_hotset},
    FieldStrategy{"thermos", "hotset, but one that does not fit may displace what is colder",
                  k_membrain, place_thermos},
    FieldStrategy{"soar", "by latency over parallelism, per byte", "Liu et al., SOAR, OSDI 2025",
                  place_soar},
    FieldStrategy{"profdp", "by share and by how much latency grows in slow memory, per byte",
                  "Wen et al., ProfDP, ICS 2018", place_profdp},
};

} // namespace

std::span<const FieldStrategy> field_strategies() {
  return k_strategies;
}

const FieldStrategy* find_field_strategy(std::string_view name) {
  const auto at = std::ranges::find(k_strategies, name, &FieldStrategy::name);
  return at == k_strategies.end() ? nullptr : &*at;
}

std::string field_strategy_names() {
  std::string names;
  for (const FieldStrategy& strategy : k_strategies)
    names += (names.empty() ? "" : ", ") + std::string(strategy.name);
  return names;
}

} // namespace omptier
