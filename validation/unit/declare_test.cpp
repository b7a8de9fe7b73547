// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The best feasible set against every assignment there is, on random instances; the gains by tier
// that traits lead to.
#include "allocators/declared_demand.hpp"
#include "allocators/feasible_set.hpp"
#include "base/os.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace omptier;

namespace {

struct Instance {
  std::vector<Candidate> candidates;
  std::vector<std::uint64_t> room;
  std::vector<std::uint8_t> chosen;
  std::vector<std::uint32_t> scratch;

  double solve(DecisionOrder order) {
    chosen.assign(candidates.size(), 77);
    scratch.assign(candidates.size(), 0);
    const double total = choose_set(candidates, room, order, chosen, scratch);
    double counted = 0;
    EXPECT_TRUE(is_feasible(candidates, room, chosen, counted));
    EXPECT_NEAR(total, counted, 1e-6);
    return total;
  }
};

Instance random_instance(std::mt19937& random, std::size_t count, std::size_t tiers) {
  Instance instance;
  std::uniform_int_distribution<std::uint64_t> size(1, 100);
  std::uniform_real_distribution<double> gain(0, 10);
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Candidate c;
    c.bytes = size(random);
    c.loss = 1;
    c.weight = gain(random);
    for (std::size_t t = 0; t < tiers; ++t)
      if (random() % 8 != 0) {
        c.allowed |= 1u << t;
        c.gain[t] = t + 1 == tiers ? 0 : gain(random);
      }
    all += c.bytes;
    instance.candidates.push_back(c);
  }
  for (std::size_t t = 0; t < tiers; ++t)
    instance.room.push_back(random() % (all / 2 + 1));
  return instance;
}

double best_of_all(const Instance& instance) {
  std::vector<std::uint8_t> chosen(instance.candidates.size(), 0);
  const auto options = instance.room.size() + 1;
  double best = -1e300;
  for (;;) {
    std::vector<std::uint8_t> tiers = chosen;
    for (auto& tier : tiers)
      if (tier + 1u == options) tier = k_nowhere;
    double gain = 0;
    if (is_feasible(instance.candidates, instance.room, tiers, gain)) best = std::max(best, gain);
    std::size_t i = 0;
    while (i < chosen.size() && ++chosen[i] == options)
      chosen[i++] = 0;
    if (i == chosen.size()) return best;
  }
}

TEST(FeasibleSet, SmallSetsAreExact) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    Instance instance = random_instance(random, 1 + random() % 6, 1 + random() % 3);
    const double best = best_of_all(instance);
    EXPECT_NEAR(instance.solve(DecisionOrder::density), best, 1e-6) << "round " << round;
    EXPECT_LE(instance.solve(DecisionOrder::importance), best + 1e-6);
    EXPECT_LE(instance.solve(DecisionOrder::declaration), best + 1e-6);
  }
}

TEST(FeasibleSet, LargeSetsAreFeasibleAndNoWorseThanFirstComeFirstServed) {
  std::mt19937 random(2);
  for (int round = 0; round < 20; ++round) {
    Instance instance = random_instance(random, 25 + random() % 500, 4);
    const double first_come = instance.solve(DecisionOrder::declaration);
    EXPECT_GE(instance.solve(DecisionOrder::density), first_come);
  }
}

TEST(FeasibleSet, MandatoryComesFirst) {
  Instance instance;
  Candidate dear, required;
  dear.bytes = required.bytes = 10;
  dear.allowed = required.allowed = 1;
  dear.gain[0] = 1000;
  required.mandatory = true;
  required.loss = 1e6;
  instance.room = {10};
  instance.candidates = {dear, required};
  for (const auto order :
       {DecisionOrder::density, DecisionOrder::importance, DecisionOrder::declaration}) {
    if (order == DecisionOrder::declaration) continue; // that order is the caller's own
    instance.solve(order);
    EXPECT_EQ(instance.chosen[0], k_nowhere);
    EXPECT_EQ(instance.chosen[1], 0);
  }
}

TEST(FeasibleSet, EqualGainsLeaveTheFasterTierFree) {
  Instance instance;
  Candidate cold;
  cold.bytes = 1;
  cold.allowed = 7;
  instance.room = {10, 10, 10};
  instance.candidates = {cold};
  instance.solve(DecisionOrder::density);
  EXPECT_EQ(instance.chosen[0], 2);
}

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
  const std::vector<Tier> tiers = three_tiers();
  TraitSet scattered, streamed;
  scattered.access_pattern = 5103;
  scattered.access_mode = 5140;
  streamed.access_pattern = 5100;
  streamed.access_mode = 5140;
  const auto s = relative_times(scattered, tiers), b = relative_times(streamed, tiers);
  EXPECT_DOUBLE_EQ(s[0], 1.2);
  EXPECT_DOUBLE_EQ(s[1], 1);
  EXPECT_DOUBLE_EQ(s[2], 3);
  EXPECT_DOUBLE_EQ(b[0], 0.25);
  EXPECT_DOUBLE_EQ(b[1], 1);
  EXPECT_DOUBLE_EQ(b[2], 2.5);
  streamed.access_mode = 5144; // a store reads its line first
  EXPECT_DOUBLE_EQ(relative_times(streamed, tiers)[2], (1 / 40. + 1 / 10.) / (2 / 100.));
  streamed.sensitivity = 5220; // said outright, it counts more than the pattern
  EXPECT_DOUBLE_EQ(relative_times(streamed, tiers)[2], 6);
  TraitSet strided;
  strided.access_pattern = 5101;
  strided.access_stride = 256;
  strided.access_mode = 5140;
  EXPECT_DOUBLE_EQ(relative_times(strided, tiers)[0], 0.25);
  strided.access_stride = page_size();
  EXPECT_DOUBLE_EQ(relative_times(strided, tiers)[0], 1.2);
  strided.sensitivity = 5222;
  EXPECT_DOUBLE_EQ(relative_times(strided, tiers)[0], (1.2 + 0.25) / 2);
}

TEST(DeclaredDemand, WeightIsImportanceElseFrequencyElseUnknown) {
  const std::vector<Tier> tiers = three_tiers();
  TraitSet traits;
  EXPECT_LT(weight_of(traits, tiers), 0);
  traits.access_pattern = 5103;
  traits.access_mode = 5140;
  traits.access_frequency = 1'000'000; // times 100 ns: a tenth of a second each second
  EXPECT_DOUBLE_EQ(weight_of(traits, tiers), 100);
  traits.access_mode = 5142; // half are stores, of which 16 are on their way at once
  EXPECT_DOUBLE_EQ(weight_of(traits, tiers), 50 + 50 / 16.);
  traits.importance = 300;
  EXPECT_DOUBLE_EQ(weight_of(traits, tiers), 300);
  traits.sensitivity = 5223;
  EXPECT_EQ(weight_of(traits, tiers), 0);
  EXPECT_TRUE(is_cold(traits));
}

TEST(DeclaredDemand, UnknownFiguresFollowTheKind) {
  std::vector<Tier> tiers = three_tiers();
  for (Tier& tier : tiers)
    tier.figures = {};
  TraitSet streamed, scattered;
  streamed.access_pattern = 5100;
  scattered.access_pattern = 5103;
  const auto b = relative_times(streamed, tiers), s = relative_times(scattered, tiers);
  EXPECT_LT(b[0], b[1]);
  EXPECT_LT(b[1], b[2]);
  EXPECT_LT(s[1], s[0]);
  EXPECT_LT(s[0], s[2]);
}

} // namespace
