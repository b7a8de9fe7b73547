// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the samples leave open which of two sites gets the fast memory, the advice says so.
#include "advisor/advice.hpp"
#include "advisor/together.hpp"
#include "advisor/toss_ups.hpp"
#include "advisor_fast_and_slow.hpp"
#include "cli/advice_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

using Either = std::vector<std::optional<std::size_t>>;

// Sites of 40 MiB with these shares, each known to so many points; DRAM holds so many bytes.
Advice advice_for(const std::vector<double>& shares, double half, std::uint64_t dram,
                  std::uint64_t life = 100) {
  Workload workload;
  workload.rest = 5e8; // a share of 0.04 more or less in DRAM is 1.3 % of the time
  for (const double share : shares) {
    SiteDemand& site = workload.sites.emplace_back();
    site.site = workload.sites.size() - 1;
    site.label = std::string(1, static_cast<char>('a' + site.site));
    const std::uint64_t begin = site.site * (100 - life);
    site.live = {{begin, begin + life, 40 * MiB}};
    site.demand.of(Manner::scattered_load) = 1e6 * share;
    site.share = share;
    site.share_low = share - half;
    site.share_high = share + half;
  }
  return advise(std::move(workload), {{MemoryKind::dram, dram, {80, 80, 100e9, 100e9}},
                                      {MemoryKind::nvm, 1024 * MiB, {300, 900, 30e9, 10e9}}});
}

TEST(TossUps, SharesWithinTheirIntervals) {
  const Advice advice = advice_for({0.5, 0.46}, 0.05, 60 * MiB);
  EXPECT_EQ(advice.placement.tier_of_site, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(advice.either, (Either{1, 0}));
  const std::string text = placement_text(advice);
  EXPECT_NE(text.find("either DRAM or NVM: the samples do not tell"), std::string::npos) << text;
  EXPECT_NE(text.find("either NVM or DRAM: the samples do not tell"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(advice_json(advice, {}, {}));
  EXPECT_EQ(json["sites"][0]["or_kind"], "nvm");
  EXPECT_EQ(json["sites"][1]["or_kind"], "dram");
}

// 0.04 apart; the root of the sum of squares of 0.025 is 0.035, of 0.03 is 0.042.
TEST(TossUps, IntervalsAddUpAsErrorsDo) {
  EXPECT_EQ(advice_for({0.5, 0.46}, 0.025, 60 * MiB).either, (Either{{}, {}}));
  EXPECT_EQ(advice_for({0.5, 0.46}, 0.03, 60 * MiB).either, (Either{1, 0}));
}

TEST(TossUps, NoneWhereTheSharesAreFarApart) {
  const Advice advice = advice_for({0.8, 0.1}, 0.05, 60 * MiB);
  EXPECT_EQ(advice.either, (Either{{}, {}}));
  EXPECT_EQ(placement_text(advice).find("either"), std::string::npos);
  const auto json = nlohmann::json::parse(advice_json(advice, {}, {}));
  EXPECT_TRUE(json["sites"][0]["or_kind"].is_null());
}

TEST(TossUps, NoneWhereBothFit) {
  EXPECT_EQ(advice_for({0.5, 0.46}, 0.05, 100 * MiB).either, (Either{{}, {}}));
}

TEST(TossUps, NoneWhereTheyLiveInTurn) {
  EXPECT_EQ(advice_for({0.5, 0.46}, 0.05, 60 * MiB, 50).either, (Either{{}, {}}));
}

// Without the rest, 0.04 are 5 % of the time: that is worth a placement.
TEST(TossUps, NoneWhereMuchIsAtStake) {
  Advice advice = advice_for({0.5, 0.46}, 0.05, 60 * MiB);
  advice.workload.rest = 0;
  EXPECT_EQ(toss_ups(advice.workload, advice.costs, advice.tiers, advice.placement.tier_of_site),
            (Either{{}, {}}));
}

// 60 of the larger one's 80 MiB would have to leave, which it can do in parts.
TEST(TossUps, WhatCanBeDividedChangesPlacesInParts) {
  Workload workload = advice_for({0.5, 0.46}, 0.05, 60 * MiB).workload;
  workload.sites[0].live = {{0, 100, 80 * MiB}};
  workload.sites[0].demand *= 2;
  workload.sites[0].share = 1;
  const std::vector<TierChoice> tiers = {{MemoryKind::dram, 60 * MiB, {80, 80, 100e9, 100e9}},
                                         {MemoryKind::nvm, 1024 * MiB, {300, 900, 30e9, 10e9}}};
  const auto found = [&] { return toss_ups(workload, cost_table(workload, tiers), tiers, {1, 0}); };
  EXPECT_EQ(found(), (Either{{}, {}})); // as a whole it has no room
  workload.sites[0].block_bytes = 80 * MiB;
  EXPECT_EQ(found(), (Either{0, 1}));
}

// A placement that loops decided is no toss-up: alone, the other one would gain far more.
TEST(TossUps, NoneWhereTheSharesDecideAgainstThePlacement) {
  Workload workload;
  for (const double share : {0.8, 0.1}) {
    SiteDemand& site = workload.sites.emplace_back();
    site.live = {{0, 100, 40 * MiB}};
    site.demand.of(Manner::scattered_load) = 1e6 * share;
    site.share = share;
    site.share_low = share - 0.02;
    site.share_high = share + 0.02;
  }
  const std::vector<TierChoice> tiers = {{MemoryKind::dram, 60 * MiB, {80, 80, 100e9, 100e9}},
                                         {MemoryKind::nvm, 1024 * MiB, {300, 900, 30e9, 10e9}}};
  EXPECT_EQ(toss_ups(workload, cost_table(workload, tiers), tiers, {1, 0}), (Either{{}, {}}));
}

struct Named {
  char name;
  double demand;
  std::uint64_t mib = 40;
};

// Of sites by name: those that lie in DRAM, which holds three of 40 MiB.
std::string settled(const std::vector<Named>& sites, std::string in_dram) {
  Workload workload;
  std::vector<std::size_t> where;
  for (const auto& [name, demand, mib] : sites) {
    SiteDemand& site = workload.sites.emplace_back();
    site.label = name;
    site.live = {{0, 100, mib * MiB}};
    site.demand.of(Manner::scattered_load) = demand;
    where.push_back(in_dram.find(name) != std::string::npos ? 0 : 1);
  }
  settle(workload,
         {{MemoryKind::dram, 130 * MiB, {80, 80, 100e9, 100e9}},
          {MemoryKind::nvm, 1024 * MiB, {300, 900, 30e9, 10e9}}},
         where);
  in_dram.clear();
  for (std::size_t i = 0; i < sites.size(); ++i)
    if (where[i] == 0) in_dram += sites[i].name;
  std::ranges::sort(in_dram);
  return in_dram;
}

TEST(Settled, NamesDecideBetweenSitesThatAreAlike) {
  EXPECT_EQ(
      settled({{'f', 1003}, {'e', 1002}, {'d', 1001}, {'c', 1000}, {'b', 999}, {'a', 998}}, "fed"),
      "abc");
  EXPECT_EQ(settled({{'a', 998}, {'b', 999}, {'c', 1000}, {'d', 1001}}, "abc"), "abc");
}

TEST(Settled, NotBetweenOthers) {
  EXPECT_EQ(
      settled({{'f', 2000}, {'e', 1500}, {'d', 1400}, {'c', 700}, {'b', 800}, {'a', 600}}, "fed"),
      "def");
}

// The first names' shares of what it may cost are spent: 1 % of all time.
TEST(Settled, AltogetherItCostsLittle) {
  EXPECT_EQ(settled({{'f', 1100}, {'e', 1100}, {'d', 1100}, {'c', 1050}, {'b', 1050}, {'a', 1050}},
                    "fed"),
            "ade");
}

// 50 MiB are left when a has taken the place of f.
TEST(Settled, RoomThatIsLeftIsUsed) {
  EXPECT_EQ(settled({{'e', 500'000}, {'f', 2000, 80}, {'a', 998}, {'b', 300}}, "ef"), "abe");
}

// What leaves must have room where it goes.
TEST(TossUps, NoneWhereWhatLeavesHasNoRoom) {
  Workload workload;
  for (const std::uint64_t size : {40 * MiB, 50 * MiB}) {
    SiteDemand& site = workload.sites.emplace_back();
    site.live = {{0, 100, size}};
    site.demand.of(Manner::scattered_load) = 5e5;
    site.share = 0.5;
    site.share_low = 0.4;
    site.share_high = 0.6;
  }
  std::vector<TierChoice> tiers = {{MemoryKind::dram, 60 * MiB, {80, 80, 100e9, 100e9}},
                                   {MemoryKind::nvm, 60 * MiB, {300, 900, 30e9, 10e9}}};
  EXPECT_EQ(toss_ups(workload, cost_table(workload, tiers), tiers, {1, 0}), (Either{0, 1}));
  tiers[1].capacity = 45 * MiB;
  EXPECT_EQ(toss_ups(workload, cost_table(workload, tiers), tiers, {1, 0}), (Either{{}, {}}));
}

// The first is in DRAM for certain; the second and the third compete for the rest of it.
TEST(TossUps, OnlyThoseThatCompete) {
  EXPECT_EQ(advice_for({0.7, 0.15, 0.14}, 0.02, 90 * MiB).either, (Either{{}, 1, 0}));
}

} // namespace
} // namespace omptier
