// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gains by tier that traits lead to, and the order of tiers for a block alone.
#include "allocators/decide_together.hpp"
#include "allocators/declared_demand.hpp"
#include "allocators/tier_order.hpp"
#include "base/os.hpp"
#include "dram_and_hbm.hpp"
#include "platform/usual_figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

using namespace omptier;

namespace {

std::vector<Tier> three_tiers() {
  Tier hbm, dram, nvm;
  hbm.kind = MemoryKind::hbm;
  hbm.figures = {120, 120, 400e9, 400e9};
  dram.kind = MemoryKind::dram;
  dram.figures = {100, 100, 100e9, 100e9};
  nvm.kind = MemoryKind::nvm;
  nvm.figures = {300, 600, 40e9, 10e9};
  return {hbm, dram, nvm};
}

TEST(DeclaredDemand, LatencyAndBandwidthWantDifferentMemory) {
  const DeclaredPrices prices(three_tiers());
  TraitSet scattered, streamed;
  scattered.access_pattern = 5103;
  scattered.access_mode = 5140;
  streamed.access_pattern = 5100;
  streamed.access_mode = 5140;
  const auto s = prices.relative_times(scattered), b = prices.relative_times(streamed);
  EXPECT_DOUBLE_EQ(s[0], 1.2);
  EXPECT_DOUBLE_EQ(s[1], 1);
  EXPECT_DOUBLE_EQ(s[2], 3);
  EXPECT_DOUBLE_EQ(b[0], 0.25);
  EXPECT_DOUBLE_EQ(b[1], 1);
  EXPECT_DOUBLE_EQ(b[2], 2.5);
  streamed.access_mode = 5144; // a store reads its line first
  EXPECT_DOUBLE_EQ(prices.relative_times(streamed)[2], (2 / (10 * k_nvm_mixed)) / (2 / 100.));
  streamed.access_mode = 5140;
  streamed.sensitivity = 5220; // said outright, it counts more than the pattern
  EXPECT_DOUBLE_EQ(prices.relative_times(streamed)[2], 3);
  TraitSet strided;
  strided.access_pattern = 5101;
  strided.access_stride = 256;
  strided.access_mode = 5140;
  EXPECT_DOUBLE_EQ(prices.relative_times(strided)[0], 0.25);
  strided.access_stride = page_size();
  EXPECT_DOUBLE_EQ(prices.relative_times(strided)[0], 1.2);
  strided.sensitivity = 5222;
  EXPECT_DOUBLE_EQ(prices.relative_times(strided)[0], (1.2 + 0.25) / 2);
}

TEST(DeclaredDemand, WeightIsImportanceElseFrequencyElseUnknown) {
  const DeclaredPrices prices(three_tiers());
  TraitSet traits;
  EXPECT_LT(prices.weight_of(traits), 0);
  traits.access_pattern = 5103;
  traits.access_mode = 5140;
  traits.access_frequency = 1'000'000; // times 100 ns: a tenth of a second each second
  EXPECT_DOUBLE_EQ(prices.weight_of(traits), 100);
  traits.access_mode = 5142; // half are stores, of which 16 are on their way at once
  EXPECT_DOUBLE_EQ(prices.weight_of(traits), 50 + 50 / 16.);
  traits.importance = 300;
  EXPECT_DOUBLE_EQ(prices.weight_of(traits), 300);
  traits.sensitivity = 5223;
  EXPECT_EQ(prices.weight_of(traits), 0);
  EXPECT_TRUE(is_cold(traits));
}

TEST(DeclaredDemand, UnknownFiguresFollowTheKind) {
  std::vector<Tier> tiers = three_tiers();
  for (Tier& tier : tiers)
    tier.figures = {};
  TraitSet streamed, scattered;
  streamed.access_pattern = 5100;
  scattered.access_pattern = 5103;
  const DeclaredPrices prices(tiers);
  const auto b = prices.relative_times(streamed), s = prices.relative_times(scattered);
  EXPECT_LT(b[0], b[1]);
  EXPECT_LT(b[1], b[2]);
  EXPECT_LT(s[1], s[0]);
  EXPECT_LT(s[0], s[2]);
}

// What is allocated alone asks first for the memory that a commit would wish it in.
TEST(DeclaredDemand, ABlockAloneIsServedAlike) {
  Placer placer(dram_and_hbm(std::uint64_t{1} << 30), {});
  const DeclaredPrices prices(placer.platform().tiers);
  Allocator allocator;
  allocator.space = Space::automatic;
  TraitSet& traits = allocator.traits;
  traits.extended = true;
  traits.access_mode = value::read_only;
  for (const OmpValue sensitivity : {OmpValue{0}, value::latency, value::bandwidth, value::both})
    for (const OmpValue pattern : {OmpValue{0}, value::sequential, value::strided, value::tiled,
                                   value::random, value::pointer_chase})
      for (const std::size_t stride : {64, 4096}) {
        traits.sensitivity = sensitivity;
        traits.access_pattern = pattern;
        traits.access_stride = pattern == value::strided ? stride : 0;
        const auto times = prices.relative_times(traits);
        const std::size_t wished = times[0] < times[1] ? 0 : 1;
        EXPECT_EQ(tiers_by_traits(placer, allocator).front(), wished)
            << "sensitivity " << sensitivity << ", pattern " << pattern << ", stride " << stride;
      }
}

// HBM holds one of the two. The one says of itself that it is used without end, the other may lie
// nowhere else.
TEST(Decide, NoFrequencyOutweighsWhatIsRequired) {
  const std::vector<Tier> tiers = three_tiers();
  TraitSet often, plain;
  often.sensitivity = value::bandwidth;
  for (const OmpValue frequency : {OmpValue{1'000'000'000'000}, OmpValue{1} << 62}) {
    often.access_frequency = frequency;
    Wish wishes[2];
    for (Wish& wish : wishes)
      wish.bytes = 10 * page_size();
    wishes[0].traits = &often;
    wishes[0].allowed = 7;
    wishes[1].traits = &plain;
    wishes[1].allowed = 1;
    wishes[1].mandatory = true;
    const TierRoom room{10 * page_size(), 0, 100 * page_size()};
    ASSERT_TRUE(decide_together(tiers, wishes, room, DecisionOrder::density));
    EXPECT_EQ(wishes[0].decided, 2);
    EXPECT_EQ(wishes[1].decided, 0);
  }
}

TEST(Decide, SizesBeyondAllMemoryDoNotWrapAround) {
  const std::vector<Tier> tiers = three_tiers();
  const TraitSet traits;
  const TierRoom room{10 * page_size(), 10 * page_size(), 100 * page_size()};
  const auto decided = [&](std::uint64_t one, std::uint64_t other, OmpValue group) {
    Wish wishes[2];
    for (Wish& wish : wishes) {
      wish.traits = &traits;
      wish.allowed = 7;
      wish.group = group;
    }
    wishes[0].bytes = one;
    wishes[1].bytes = other;
    EXPECT_TRUE(decide_together(tiers, wishes, room, DecisionOrder::density));
    return wishes[0].decided;
  };
  constexpr std::uint64_t k_half = std::uint64_t{1} << 63, k_most = ~std::uint64_t{0};
  EXPECT_NE(decided(page_size(), page_size(), 1), k_nowhere);
  EXPECT_EQ(decided(k_half, k_half, 1), k_nowhere);
  EXPECT_EQ(decided(k_most, page_size(), 0), k_nowhere);
  EXPECT_EQ(sum_of_bytes(k_most - 5, 5), k_most);
  EXPECT_EQ(sum_of_bytes(k_most - 5, 6), k_most);
}

} // namespace
