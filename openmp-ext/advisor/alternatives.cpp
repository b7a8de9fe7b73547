// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See alternatives.hpp.
#include "advisor/alternatives.hpp"

#include "advisor/needs.hpp"
#include "advisor/together.hpp"
#include "base/text.hpp"

#include <cmath>
#include <new>

namespace omptier {
namespace {

constexpr double k_least_change = 0.0005; // of the time: less is the same
constexpr double k_least_shown = 0.01;    // of a site's bytes: room for less is none

// The largest part of a need that still fits, to a hundredth.
double part_that_fits(const Room& room, const Need& need, std::size_t tier) {
  double fits = 0, does_not = 1;
  while (does_not - fits > 0.01) {
    const double middle = (fits + does_not) / 2;
    std::vector<Stay> stays(need.stays.begin(), need.stays.end());
    const auto scale = [&](std::uint64_t bytes) {
      return static_cast<std::uint64_t>(static_cast<double>(bytes) * middle);
    };
    for (Stay& stay : stays)
      stay.bytes = scale(stay.bytes);
    (room.fits({scale(need.bytes), stays}, tier) ? fits : does_not) = middle;
  }
  return fits;
}

std::string alternative(const Advice& advice, const LoopTimes& times, const Room& room,
                        const Need& need, std::size_t site) {
  const std::size_t home = advice.placement.tier_of_site[site];
  std::optional<std::size_t> next;
  for (std::size_t tier = 0; tier < advice.tiers.size(); ++tier)
    if (tier != home && (!next || times.change(site, tier) < times.change(site, *next)))
      next = tier;
  if (!next) return {};
  const double change = times.change(site, *next) / advice.time;
  const std::string size = format_percent(std::abs(change));
  const std::string kind(title_of(advice.tiers[*next].kind));
  if (std::abs(change) < k_least_change)
    return "moved alone: in " + kind + ", the time would be the same";
  if (change > 0) return "moved alone: in " + kind + ", the program would take " + size + " longer";
  const std::string saves = "moved alone: " + kind + " would save " + size + " of the time";
  if (room.fits(need, *next))
    return saves + " and has room" +
           (std::abs(change) < k_worth_changing ? ": plans do not change for so little" : "");
  const double part = part_that_fits(room, need, *next);
  if (part < k_least_shown) return {};
  return saves + ", but has room for " + format_percent(part, 0) + " of it";
}

} // namespace

std::vector<std::string> alternatives(const Advice& advice) {
  const auto& where = advice.placement.tier_of_site;
  std::vector<std::string> texts(where.size());
  if (advice.tiers.size() < 2 || !(advice.time > 0)) return texts;
  const Needs needs(advice.workload);
  const PlacementTimes held(advice.workload, advice.tiers, where);
  Room room;
  std::vector<std::uint64_t> capacity;
  for (const TierChoice& tier : advice.tiers)
    capacity.push_back(tier.capacity);
  if (!room.make(capacity, needs.pieces())) throw std::bad_alloc();
  for (std::size_t site = 0; site < where.size(); ++site)
    if (const SiteDemand& demand = advice.workload.sites[site];
        demand.placeable && demand.by_plan && where[site] != Placement::k_nowhere)
      room.take(needs.of(site), where[site]);
  for (std::size_t site = 0; site < where.size(); ++site)
    if (advice.workload.sites[site].is_free() && where[site] != Placement::k_nowhere)
      texts[site] = alternative(advice, held.times, room, needs.of(site), site);
  return texts;
}

} // namespace omptier
