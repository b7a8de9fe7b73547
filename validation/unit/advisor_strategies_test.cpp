// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strategies of the field, on cases computed by hand, and on random ones.
#include "advisor/advice.hpp"
#include "advisor/needs.hpp"
#include "advisor_fast_and_slow.hpp"
#include "model/cost.hpp"

#include <gtest/gtest.h>

#include <random>

namespace omptier {
namespace {

const Figures k_dram{80, 80, 100e9, 100e9}, k_hbm{120, 120, 400e9, 400e9},
    k_nvm{300, 900, 30e9, 10e9};
using Tiers = std::vector<std::size_t>;

SiteDemand site_of(std::uint64_t bytes, double loads, std::uint64_t begin = 0,
                   std::uint64_t end = 1000) {
  SiteDemand site;
  site.label = "site";
  site.instances = 1;
  site.live = {{begin, end, bytes}};
  site.demand.of(Manner::scattered_load) = loads;
  return site;
}

Workload workload_of(std::vector<SiteDemand> sites) {
  Workload workload;
  double all = 0;
  for (const SiteDemand& site : sites)
    all += site.demand.total();
  for (std::size_t at = 0; at < sites.size(); ++at) {
    sites[at].share = sites[at].demand.total() / all;
    sites[at].site = at;
  }
  workload.sites = std::move(sites);
  return workload;
}

std::vector<TierChoice> dram_and_nvm(std::uint64_t dram) {
  return {{MemoryKind::dram, dram, k_dram}, {MemoryKind::nvm, 4096 * MiB, k_nvm}};
}

Tiers placed_by(std::string_view name, const Workload& workload,
                const std::vector<TierChoice>& tiers) {
  return find_field_strategy(name)->place({workload, tiers});
}

// Accesses per MiB: 2.5, 2 and 1.67. The first alone, or the two others.
TEST(FieldStrategies, RanksTakeTheDensestAndSetsTheBestSum) {
  const Workload workload =
      workload_of({site_of(40 * MiB, 100), site_of(30 * MiB, 60), site_of(30 * MiB, 50)});
  for (const char* name : {"first-come", "h2m", "hotset", "ecohmem", "soar", "profdp"})
    EXPECT_EQ(placed_by(name, workload, dram_and_nvm(60 * MiB)), (Tiers{0, 1, 1})) << name;
  for (const char* name : {"idp", "idp-lt", "pbdp", "membrain"})
    EXPECT_EQ(placed_by(name, workload, dram_and_nvm(60 * MiB)), (Tiers{1, 0, 0})) << name;
  // The second lacks 10 MiB; the hottest 10 MiB there have 25 accesses, it has 60.
  EXPECT_EQ(placed_by("thermos", workload, dram_and_nvm(60 * MiB)), (Tiers{1, 0, 0}));
}

TEST(FieldStrategies, ThermosKeepsWhatIsHotter) {
  const Workload workload = workload_of({site_of(40 * MiB, 100), site_of(60 * MiB, 70)});
  EXPECT_EQ(placed_by("thermos", workload, dram_and_nvm(60 * MiB)), (Tiers{0, 1})); // 40: 100 > 70
}

TEST(FieldStrategies, HotsetEndsAtTheFirstThatDoesNotFit) {
  const Workload workload =
      workload_of({site_of(40 * MiB, 100), site_of(30 * MiB, 60), site_of(10 * MiB, 1)});
  EXPECT_EQ(placed_by("hotset", workload, dram_and_nvm(60 * MiB)), (Tiers{0, 1, 1}));
  EXPECT_EQ(placed_by("soar", workload, dram_and_nvm(60 * MiB)), (Tiers{0, 1, 0}));
}

TEST(FieldStrategies, OnlySomeKnowLifetimes) {
  const Workload workload =
      workload_of({site_of(60 * MiB, 100, 0, 500), site_of(60 * MiB, 90, 500, 1000)});
  for (const char* name : {"first-come", "idp-lt", "ecohmem", "soar"})
    EXPECT_EQ(placed_by(name, workload, dram_and_nvm(60 * MiB)), (Tiers{0, 0})) << name;
  for (const char* name : {"h2m", "idp", "membrain", "hotset"})
    EXPECT_EQ(placed_by(name, workload, dram_and_nvm(60 * MiB)), (Tiers{0, 1})) << name;
}

TEST(FieldStrategies, FirstComeGoesByTime) {
  const Workload workload =
      workload_of({site_of(60 * MiB, 100, 10, 1000), site_of(60 * MiB, 1, 5, 1000)});
  EXPECT_EQ(placed_by("first-come", workload, dram_and_nvm(60 * MiB)), (Tiers{1, 0}));
}

// Seven in eight accesses of a stream hit: above 0.25, so bandwidth counts.
TEST(FieldStrategies, H2mAsksForLatencyOrBandwidth) {
  Workload workload = workload_of({site_of(64 * MiB, 100), site_of(64 * MiB, 0)});
  workload.sites[1].demand.of(Manner::streamed_load) = 100;
  const std::vector<TierChoice> tiers = {{MemoryKind::hbm, 128 * MiB, k_hbm},
                                         {MemoryKind::dram, 128 * MiB, k_dram}};
  EXPECT_EQ(placed_by("h2m", workload, tiers), (Tiers{1, 0}));
}

// Loads of one line each: 100 · (300 − 80) / 8 = 2750 ns. Streams: 700 of 800 hit, 64 B at 30 or
// 100 GB/s, 100 miss: 700 · (2.133 − 0.64) + 100 / 8 · 220 = 3795.
TEST(FieldStrategies, IdpDividesOnlyLatencyByEight) {
  Workload workload = workload_of({site_of(64 * MiB, 100), site_of(64 * MiB, 0)});
  workload.sites[1].demand.of(Manner::streamed_load) = 100;
  EXPECT_EQ(placed_by("idp", workload, dram_and_nvm(64 * MiB)), (Tiers{1, 0}));
  workload.sites[0].demand.of(Manner::scattered_load) = 139; // 3822
  EXPECT_EQ(placed_by("idp", workload, dram_and_nvm(64 * MiB)), (Tiers{0, 1}));
}

// More accesses per byte, but over a long time; the other allocates often and briefly.
TEST(FieldStrategies, EcoHmemLiftsWhatNeedsBandwidth) {
  Workload workload =
      workload_of({site_of(60 * MiB, 1000, 0, 1000000000), site_of(60 * MiB, 900, 0, 1000)});
  EXPECT_EQ(placed_by("ecohmem", workload, dram_and_nvm(60 * MiB)), (Tiers{0, 1}));
  workload.sites[1].instances = 10;
  EXPECT_EQ(placed_by("ecohmem", workload, dram_and_nvm(60 * MiB)), (Tiers{1, 0}));
}

TEST(FieldStrategies, SoarCountsWaitsNotAccesses) {
  Workload workload = workload_of({site_of(60 * MiB, 500), site_of(60 * MiB, 200)});
  workload.sites[0].demand.at_once = 5; // 100 waits
  EXPECT_EQ(placed_by("soar", workload, dram_and_nvm(60 * MiB)), (Tiers{1, 0}));
  EXPECT_EQ(placed_by("hotset", workload, dram_and_nvm(60 * MiB)), (Tiers{0, 1}));
}

// Loads: 220 / 80 more in NVM, 2.75; stores: 900 / 16 + 0 against 5, 10.25. Times the shares: 1.65
// and 4.1.
TEST(FieldStrategies, ProfDpCountsByHowMuchLatencyGrows) {
  Workload workload = workload_of({site_of(60 * MiB, 600), site_of(60 * MiB, 0)});
  workload.sites[1].demand.of(Manner::scattered_store) = 400;
  workload.sites[0].share = 0.6, workload.sites[1].share = 0.4;
  EXPECT_EQ(placed_by("profdp", workload, dram_and_nvm(60 * MiB)), (Tiers{1, 0}));
  EXPECT_EQ(placed_by("hotset", workload, dram_and_nvm(60 * MiB)), (Tiers{0, 1}));
  workload.sites[0].share = 0.8, workload.sites[1].share = 0.2; // 2.2 and 2.05
  EXPECT_EQ(placed_by("profdp", workload, dram_and_nvm(60 * MiB)), (Tiers{0, 1}));
}

// 60 MiB from NVM at 30 GB/s: 2.1 ms, to NVM at 10 GB/s: 6.3 ms. Loads save 220 / 8 = 27.5 ns each.
TEST(FieldStrategies, PbdpMovesWhereALaterPhaseIsWorthIt) {
  const auto moves = [](double loads, std::uint64_t second_begins) {
    Workload workload = workload_of({site_of(60 * MiB, 1.2 * loads), site_of(60 * MiB, loads)});
    workload.regions.resize(3);
    workload.regions[1] = {"first", 1, 1, 10, 400};
    workload.regions[2] = {"second", 1, 1, second_begins, 900};
    for (std::uint32_t site = 0; site < 2; ++site)
      workload.sites[site].by_region = {{site + 1, workload.sites[site].demand}};
    const auto tiers = dram_and_nvm(64 * MiB);
    EXPECT_EQ(placed_by("pbdp", workload, tiers), (Tiers{0, 1}));
    return find_field_strategy("pbdp")->moves({workload, tiers});
  };
  const auto made = moves(1e6, 500); // 27.5 ms saved
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].region, 2u);
  EXPECT_EQ(made[0].tier, 1u); // out
  EXPECT_EQ(made[0].spent, move_time(60 * MiB, k_dram, k_nvm));
  EXPECT_EQ(made[0].saved, 0);
  EXPECT_EQ(made[1].tier, 0u);
  EXPECT_EQ(made[1].spent, move_time(60 * MiB, k_nvm, k_dram));
  EXPECT_GT(made[1].saved, 0);
  EXPECT_TRUE(moves(3e5, 500).empty()); // 8.25 ms are less than 8.4
  EXPECT_TRUE(moves(1e6, 300).empty()); // they alternate: one phase
}

Workload random_workload(std::mt19937& random, std::size_t tiers) {
  const auto number = [&](std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
  };
  std::vector<SiteDemand> sites;
  for (std::uint64_t count = number(1, 12); count > 0; --count) {
    const std::uint64_t begin = number(0, 90);
    sites.push_back(site_of(number(1, 64) * MiB, static_cast<double>(number(1, 1000)), begin,
                            begin + number(1, 50)));
    sites.back().instances = number(1, 5);
    sites.back().by_plan = number(0, 7) > 0;
    sites.back().demand.of(Manner::streamed_load) = static_cast<double>(number(0, 1000));
  }
  if (number(0, 1)) sites[0].kept = number(0, tiers - 1);
  sites[0].by_plan = true;
  return workload_of(std::move(sites));
}

TEST(FieldStrategies, NeverOverTheCapacityAndKeepWhatIsKept) {
  std::mt19937 random(14);
  for (int round = 0; round < 100; ++round) {
    const std::vector<TierChoice> tiers = {{MemoryKind::hbm, 70 * MiB, k_hbm},
                                           {MemoryKind::dram, 100 * MiB, k_dram},
                                           {MemoryKind::nvm, 1024 * MiB, k_nvm}};
    const Workload workload = random_workload(random, tiers.size());
    const Needs needs(workload);
    for (const FieldStrategy& strategy : field_strategies()) {
      const Tiers where = strategy.place({workload, tiers});
      Room room;
      const std::uint64_t capacity[] = {70 * MiB, 100 * MiB, 1024 * MiB};
      ASSERT_TRUE(room.make(capacity, needs.pieces()));
      for (std::size_t site = 0; site < where.size(); ++site) {
        ASSERT_LT(where[site], tiers.size()) << strategy.name;
        EXPECT_TRUE(room.fits(needs.of(site), where[site])) << strategy.name << " " << round;
        room.take(needs.of(site), where[site]);
      }
      EXPECT_EQ(where[0], workload.sites[0].kept.value_or(where[0])) << strategy.name;
      EXPECT_EQ(where, strategy.place({workload, tiers})) << strategy.name;
    }
  }
}

// Under the model of the judge, nobody is ahead of the advisor.
TEST(FieldStrategies, NoneIsAheadOfTheAdvice) {
  std::mt19937 random(15);
  for (int round = 0; round < 100; ++round) {
    const auto tiers = dram_and_nvm(100 * MiB);
    const Workload workload = random_workload(random, tiers.size());
    const Advice advice = advise(workload, tiers);
    for (const StrategyTime& of : compare_strategies(workload, advice))
      EXPECT_GE(of.time, advice.time * (1 - 1e-9)) << of.name << " " << round;
  }
}

TEST(FieldStrategies, AdviseByMakesAWholeAdvice) {
  const Workload workload = workload_of({site_of(40 * MiB, 100), site_of(30 * MiB, 60)});
  const Advice advice = advise_by(*find_field_strategy("hotset"), workload, dram_and_nvm(60 * MiB));
  EXPECT_EQ(advice.placement.tier_of_site, (Tiers{0, 1}));
  EXPECT_GT(advice.time, 0);
  EXPECT_EQ(find_field_strategy("best"), nullptr);
}

} // namespace
} // namespace omptier
