// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the field would do with the same profile: published strategies behind one table, to compare
// with the advisor's own (advise --compare) or to use instead (advise --strategy NAME). They place
// whole sites. Sites that the user keeps somewhere come first; sites that no plan reaches last.
#pragma once

#include "advisor/move_advice.hpp"
#include "advisor/placement.hpp"

#include <span>
#include <string_view>

namespace omptier {

struct StrategyInput {
  const Workload& workload;             // of whole sites: workload_from without the term parts
  const std::vector<TierChoice>& tiers; // fastest first, at least one
};

struct FieldStrategy {
  std::string_view name, rule, source; // of one word; one line for people; publication
  std::vector<std::size_t> (*place)(const StrategyInput&); // tier by site, Placement::k_nowhere
  std::vector<RegionMove> (*moves)(const StrategyInput&) = nullptr; // none: it moves nothing
};

std::span<const FieldStrategy> field_strategies();
const FieldStrategy* find_field_strategy(std::string_view name); // null: unknown
std::string field_strategy_names();                         // "first-come, h2m, …"

// In by_rank.cpp: sites one after the other.
std::vector<std::size_t> place_first_come(const StrategyInput& input);
std::vector<std::size_t> place_h2m(const StrategyInput& input);
std::vector<std::size_t> place_hotset(const StrategyInput& input);
std::vector<std::size_t> place_thermos(const StrategyInput& input);
std::vector<std::size_t> place_ecohmem(const StrategyInput& input);
std::vector<std::size_t> place_soar(const StrategyInput& input);
std::vector<std::size_t> place_profdp(const StrategyInput& input);
// In by_knapsack.cpp: all sites at once, kind by kind.
std::vector<std::size_t> place_idp(const StrategyInput& input);
std::vector<std::size_t> place_idp_lt(const StrategyInput& input);
std::vector<std::size_t> place_membrain(const StrategyInput& input);
// In by_phase.cpp: phase by phase.
std::vector<std::size_t> place_pbdp(const StrategyInput& input);
std::vector<RegionMove> moves_of_pbdp(const StrategyInput& input);

} // namespace omptier
