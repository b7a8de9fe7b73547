// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which site goes to which kind of memory for as long as it lives: model/solver.hpp over the
// lifetimes of a workload. A site gains on a tier the time it saves against the slowest usable
// kind. Without room anywhere it loses 1/1000 of the time of all sites, as for ompx_commit. Sites
// that no plan reaches are placed last, in the room that is left of the reference tier or slower
// ones.
#pragma once

#include "advisor/workload.hpp"
#include "platform/platform.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace omptier {

// A kind the advisor may use, with the bytes it may use of it.
struct TierChoice {
  MemoryKind kind = MemoryKind::unknown;
  std::uint64_t capacity = 0;
  Figures figures;
  bool estimated = false; // some figures are estimates
  bool reuses = true;     // freed blocks' pages: not in a tier of several nodes
};

// The platform's kinds, fastest first, each with the smaller of its capacity and the limit, without
// those limited to 0. Tiers of one kind are taken together. Unknown figures are estimated.
std::vector<TierChoice> usable_tiers(const Platform& platform, const CapacityByKind& limits);

std::vector<Figures> figures_of(const std::vector<TierChoice>& tiers);

// Part of the time. Profiles of one program differ by as much.
inline constexpr double k_worth_changing = 0.02;

// How long better placements are looked for. `quick` is for questions that need many placements
// (what would more room bring?) or while a running program waits: they are hardly ever slower, and
// found in a fraction of the time.
enum class Effort : std::uint8_t { thorough, quick };

struct Placement {
  // By site; k_nowhere when no tier has room for it.
  static constexpr std::size_t k_nowhere = static_cast<std::size_t>(-1);
  std::vector<std::size_t> tier_of_site;
  double saved = 0; // nanoseconds of thread time against everything in the slowest kind
};

// Nanoseconds of thread time by site and tier, in the whole run or in one region.
using CostTable = std::vector<std::vector<double>>;
CostTable cost_table(const Workload& workload, const std::vector<TierChoice>& tiers,
                     std::optional<std::size_t> region = {});

// Nanoseconds that a site's new pages cost in a tier; part of the cost in the whole run.
double first_touch_time(const SiteDemand& site, const TierChoice& tier, Threads threads);
std::vector<double> first_touch_times(const SiteDemand& site, const std::vector<TierChoice>& tiers,
                                      Threads threads);

// For one row: nanoseconds saved against the slowest tier.
double time_saved(const std::vector<double>& costs, std::size_t tier);

Placement place_by_density(const Workload& workload, const std::vector<TierChoice>& tiers,
                           const CostTable& costs);

} // namespace omptier
