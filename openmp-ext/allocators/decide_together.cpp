// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks without a weight share, in proportion to their bytes, the weight that the others leave.
#include "allocators/decide_together.hpp"

#include "allocators/declared_demand.hpp"
#include "base/page_array.hpp"

#include <algorithm>

namespace omptier {
namespace {

constexpr double k_whole = 1000; // per mille of memory time
constexpr double k_stay = 1e-3;  // a move must gain more than this, per mille
constexpr double k_loss = k_loss_of_nowhere * k_whole;
constexpr std::uint32_t k_no_candidate = ~std::uint32_t{0};

bool weigh(const DeclaredPrices& prices, std::span<const Wish> wishes,
           PageArray<double>& weights) {
  if (!weights.resize(wishes.size(), 0)) return false;
  double given = 0, open_bytes = 0;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    weights[i] = prices.weight_of(*wishes[i].traits);
    if (weights[i] < 0)
      open_bytes += static_cast<double>(wishes[i].bytes);
    else
      given += weights[i] *= wishes[i].share;
  }
  const double left = std::max(0.0, k_whole - given);
  for (std::size_t i = 0; i < wishes.size(); ++i)
    if (weights[i] < 0) weights[i] = left * static_cast<double>(wishes[i].bytes) / open_bytes;
  return true;
}

// Members of a group that have a tier in common share one candidate.
bool group_up(std::span<const Wish> wishes, PageArray<Candidate>& candidates,
              PageArray<std::uint32_t>& of_wish) {
  if (!of_wish.resize(wishes.size(), k_no_candidate)) return false;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (of_wish[i] != k_no_candidate) continue;
    Candidate candidate;
    candidate.allowed = wishes[i].allowed;
    const OmpValue group = wishes[i].group;
    if (group != 0)
      for (std::size_t j = i + 1; j < wishes.size(); ++j)
        if (wishes[j].group == group) candidate.allowed &= wishes[j].allowed;
    const bool together = group != 0 && candidate.allowed != 0;
    if (!together) candidate.allowed = wishes[i].allowed;
    of_wish[i] = static_cast<std::uint32_t>(candidates.size());
    if (together)
      for (std::size_t j = i + 1; j < wishes.size(); ++j)
        if (wishes[j].group == group) of_wish[j] = of_wish[i];
    if (!candidates.add(candidate)) return false;
  }
  return true;
}

// Twice the worth of all other blocks together, so that rounding cannot make it equal.
double loss_of_required(std::span<const Candidate> candidates, std::size_t wishes) {
  double at_stake = k_loss * static_cast<double>(wishes);
  for (const Candidate& candidate : candidates)
    if (candidate.allowed != 0) at_stake += std::max(0.0, candidate.gain[best_tier(candidate)]);
  return 2 * at_stake;
}

} // namespace

bool decide_together(std::span<const Tier> tiers, std::span<Wish> wishes,
                     const TierRoom& room, DecisionOrder order) {
  PageArray<double> weights;
  PageArray<Candidate> candidates;
  PageArray<std::uint32_t> of_wish;
  PageArray<std::uint8_t> chosen;
  if (wishes.empty()) return true;
  const DeclaredPrices prices(tiers);
  if (!weigh(prices, wishes, weights) || !group_up(wishes, candidates, of_wish) ||
      !chosen.resize(candidates.size(), k_nowhere))
    return false;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    Candidate& candidate = candidates[of_wish[i]];
    const std::uint64_t in_pages = in_whole_pages(wishes[i].bytes); // 0 when it wraps
    candidate.bytes = sum_of_bytes(candidate.bytes, std::max(in_pages, wishes[i].bytes));
    candidate.weight += weights[i];
    candidate.mandatory = candidate.mandatory || wishes[i].mandatory;
    const auto times = prices.relative_times(*wishes[i].traits);
    double worst = 0;
    for (std::size_t tier = 0; tier < tiers.size(); ++tier)
      if (wishes[i].allowed >> tier & 1) worst = std::max(worst, times[tier]);
    for (std::size_t tier = 0; tier < tiers.size(); ++tier)
      candidate.gain[tier] += weights[i] * (worst - times[tier]);
    if (wishes[i].now != k_nowhere) candidate.gain[wishes[i].now] += k_stay;
  }
  const double of_required = loss_of_required(candidates.all(), wishes.size());
  for (std::size_t i = 0; i < wishes.size(); ++i)
    candidates[of_wish[i]].loss += wishes[i].mandatory ? of_required : k_loss;
  const Problem problem{candidates.all(), {room.data(), tiers.size()}};
  if (!choose_set(problem, order, chosen.all())) return false;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    wishes[i].wished = best_tier(candidates[of_wish[i]]);
    wishes[i].decided = chosen[of_wish[i]];
  }
  return true;
}

TierRoom room_now(Placer& placer) {
  TierRoom room{};
  for (std::size_t tier = 0; tier < placer.tier_count(); ++tier)
    room[tier] = placer.room_on(tier);
  return room;
}

std::uint32_t allowed_tiers(Placer& placer, const Allocator& allocator) {
  std::uint32_t allowed = 0;
  for (const std::size_t tier : tiers_by_traits(placer, allocator))
    allowed |= std::uint32_t{1} << tier;
  return allowed;
}

std::uint8_t tier_of(const Placer& placer, const BlockInfo& info) {
  const MemoryKind kind = info.large ? info.charged : info.space->kind();
  std::uint8_t found = k_nowhere;
  for (std::size_t tier = placer.tier_count(); tier-- > 0;) {
    if (placer.kind_of_tier(tier) != kind) continue;
    const bool home = (placer.nodes_of_tier(tier).bits & info.space->nodes().bits) != 0;
    if (home) return static_cast<std::uint8_t>(tier);
    found = static_cast<std::uint8_t>(tier);
  }
  return found;
}

} // namespace omptier
