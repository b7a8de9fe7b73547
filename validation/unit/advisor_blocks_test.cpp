// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sites whose blocks differ are placed block by block, where a plan can name the blocks.
#include "advisor/advice.hpp"
#include "advisor/evidence.hpp"
#include "advisor/live_ranges.hpp"
#include "advisor/site_blocks.hpp"
#include "advisor_fast_and_slow.hpp"
#include "cli/advice_text.hpp"

#include <gtest/gtest.h>

namespace omptier {
namespace {

// Eight blocks of one site, 16 MiB each; blocks 2 and 5 have all samples but two.
ProfileSummary eight_blocks() {
  ProfileSummary summary;
  summary.measure = Measure::misses;
  summary.nanoseconds = 1000;
  summary.modules = {{"build-id:1", "app", "/app", 0, false}};
  summary.regions.emplace_back();
  SiteSummary& site = summary.sites.emplace_back();
  site.frames = {{0, 0x20}};
  site.objects = site.blocks = 8;
  site.bytes_total = site.bytes_peak = 128 * MiB;
  site.bytes_largest = 16 * MiB;
  site.live = {{0, 128 * MiB}};
  site.blocks_by_one_thread = true;
  for (std::uint32_t i = 0; i < 8; ++i) {
    const double weight = i == 2 ? 60 : i == 5 ? 38 : i == 7 ? 2 : 0;
    site.instances.push_back({i, 0, 1000, 16 * MiB, std::uint64_t(weight), weight, {{0, weight}}});
  }
  site.hot_blocks = {2, 5};
  site.sampled_weight = 100;
  site.samples = 100;
  site.accesses.scattered_load = 100;
  site.share = {1, 0.9, 1};
  SitePart& part = site.by_region.emplace_back();
  part.accesses.scattered_load = 100;
  part.samples = 100;
  return summary;
}

Advice advice_for_field(const ProfileSummary& summary, std::uint64_t dram) {
  const std::vector<std::string> names(summary.sites.size(), "field (eight.c:34)");
  return advise(workload_from(summary, {names, {"outside"}}, k_fast), tiers(dram));
}

// So many rows of 200 bytes, by malloc.
ProfileSummary rows(std::uint64_t count) {
  ProfileSummary summary = eight_blocks();
  SiteSummary& site = summary.sites[0];
  site.by_malloc = true;
  site.objects = count;
  site.blocks = 0;
  site.bytes_total = site.bytes_peak = 200 * count;
  site.bytes_largest = 200;
  site.live = {{0, 200 * count}};
  site.instances.clear();
  site.hot_blocks.clear();
  return summary;
}

TEST(BlocksOfASite, SmallOnesAreOneObject) {
  const ProfileSummary summary = rows(100'000);
  const Plan plan = plan_of(advice_for_field(summary, 40 * MiB), summary);
  ASSERT_EQ(plan.entries.size(), 1u);
  EXPECT_EQ(plan.entries[0].kinds[0], MemoryKind::dram);
  EXPECT_EQ(plan.entries[0].least_block, 1u);
  EXPECT_EQ(plan.entries[0].bytes, 20'000'000u);
}

TEST(BlocksOfASite, FewSmallOnesAreNoEntry) {
  const ProfileSummary summary = rows(1000);
  EXPECT_TRUE(plan_of(advice_for_field(summary, 40 * MiB), summary).entries.empty());
}

TEST(BlocksOfASite, TheHotOnesGetTheFastMemory) {
  const ProfileSummary summary = eight_blocks();
  const Advice advice = advice_for_field(summary, 40 * MiB);
  ASSERT_EQ(advice.workload.sites.size(), 2u);
  EXPECT_EQ(advice.workload.sites[0].label, "field (eight.c:34), blocks 2, 5");
  EXPECT_EQ(advice.workload.sites[1].label, "field (eight.c:34), blocks 0, 1, 3, 4, 6, 7");
  EXPECT_EQ(advice.workload.sites[0].peak_bytes(), 32 * MiB);
  EXPECT_EQ(advice.workload.sites[1].peak_bytes(), 96 * MiB);
  EXPECT_NEAR(advice.workload.sites[0].share, 0.98, 1e-9);
  EXPECT_NEAR(advice.workload.sites[0].demand_in(0).total(), 98, 1e-9);
  std::string why_not;
  EXPECT_TRUE(is_consistent(advice.workload, why_not)) << why_not;

  const Plan plan = plan_of(advice, summary);
  ASSERT_EQ(plan.entries.size(), 2u);
  EXPECT_EQ(plan.entries[0].kinds.front(), MemoryKind::dram);
  ASSERT_EQ(plan.entries[0].instances.size(), 2u);
  EXPECT_EQ(plan.entries[0].instances[0].first, 2u);
  EXPECT_EQ(plan.entries[0].instances[1].last, 5u);
  EXPECT_EQ(plan.entries[1].kinds.front(), MemoryKind::nvm);
  EXPECT_EQ(plan.entries[1].instances.front().last, 1u); // 0 to 1
  EXPECT_TRUE(parse_plan(write_plan(plan), "plan"));
}

// And a part of the next.
TEST(BlocksOfASite, RoomForOneTakesTheHotter) {
  const ProfileSummary summary = eight_blocks();
  const Advice advice = advice_for_field(summary, 20 * MiB);
  ASSERT_EQ(advice.workload.sites.size(), 4u);
  EXPECT_EQ(advice.workload.sites[0].blocks, (std::vector<std::uint32_t>{2}));
  EXPECT_TRUE(advice.workload.sites[0].ranges.empty());
  EXPECT_EQ(advice.placement.tier_of_site[0], 0u);
  EXPECT_EQ(advice.workload.sites[1].blocks, (std::vector<std::uint32_t>{5}));
  EXPECT_EQ(advice.workload.sites[1].peak_bytes(), 4 * MiB);
  EXPECT_EQ(advice.placement.tier_of_site[1], 0u);
  EXPECT_EQ(advice.workload.sites[2].peak_bytes(), 12 * MiB); // of block 5
  EXPECT_EQ(advice.placement.tier_of_site[2], 1u);
  const Plan plan = plan_of(advice, summary);
  ASSERT_EQ(plan.entries.size(), 3u);
  EXPECT_TRUE(plan.entries[0].parts.empty());
  EXPECT_EQ(plan.entries[1].instances[0].first, 5u);
  EXPECT_FALSE(plan.entries[1].parts.empty());
}

TEST(BlocksOfASite, RoomForAllMakesNoDifference) {
  const ProfileSummary summary = eight_blocks();
  const Advice advice = advice_for_field(summary, 512 * MiB);
  ASSERT_EQ(advice.workload.sites.size(), 1u);
  EXPECT_EQ(advice.workload.sites[0].label, "field (eight.c:34)");
  EXPECT_EQ(advice.workload.sites[0].peak_bytes(), 128 * MiB);
  EXPECT_EQ(advice.workload.sites[0].live.size(), 1u);
  EXPECT_TRUE(plan_of(advice, summary).entries[0].instances.empty());
}

// Blocks are joined with all of their parts, or not at all.
TEST(BlocksOfASite, JoinedOnlyIfAllTheirPartsAreAlike) {
  Workload workload;
  for (const std::uint32_t block : {1, 2})
    for (const std::uint64_t begin : {0 * MiB, 8 * MiB}) {
      SiteDemand& part = workload.sites.emplace_back();
      part.blocks = {block};
      part.all_instances = 3;
      part.instances = 1;
      part.ranges = {{begin, begin + 8 * MiB}};
    }
  std::vector<std::size_t> tiers = {0, 1, 0, 2};
  Workload apart = workload;
  join_blocks(apart, tiers);
  EXPECT_EQ(tiers, (std::vector<std::size_t>{0, 1, 0, 2}));
  EXPECT_EQ(apart.sites.size(), 4u);
  tiers[3] = 1;
  join_blocks(workload, tiers);
  EXPECT_EQ(tiers, (std::vector<std::size_t>{0, 1}));
  ASSERT_EQ(workload.sites.size(), 2u);
  for (const SiteDemand& joined : workload.sites)
    EXPECT_EQ(joined.blocks, (std::vector<std::uint32_t>{1, 2}));
}

TEST(BlocksOfASite, WhatStaysIsSummedUp) {
  ProfileSummary summary = eight_blocks();
  SiteSummary& mapping = summary.sites.emplace_back();
  mapping.kind = SiteKind::mapping;
  mapping.frames = {{0, 0x90}};
  mapping.bytes_peak = 3 * MiB;
  mapping.share.value = 0.2;
  summary.small.share.value = 0.5;
  summary.small_bytes = 169 * MiB;
  const std::string text = placement_text(advice_for_field(summary, 40 * MiB));
  EXPECT_NE(text.find("3.00 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("stays      169 MiB  small objects\n          50.0 % of the samples; no plan "
                      "reaches blocks below 4 KiB"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("No plan reaches 70.0 % of the samples, on 172 MiB"), std::string::npos)
      << text;
}

// The runtime knows regions by their call stacks: each copy of one has an entry.
TEST(MovesOfRegions, EachCopyHasAnEntry) {
  ProfileSummary summary = eight_blocks();
  RegionSummary& region = summary.regions.emplace_back();
  region.frames = {{0, 0x100}};
  region.also = {{{0, 0x140}}, {{0, 0x180}}};
  Advice advice =
      advise(workload_from(summary, {{"field"}, {"outside", "phaseA"}}, k_fast),
             {{MemoryKind::dram, 40 * MiB, k_fast}, {MemoryKind::nvm, 1024 * MiB, k_slow}});
  const std::size_t before = plan_of(advice, summary).entries.size();
  advice.moves = {{1, 1, 0, 5e9, 1e9}};
  const Plan plan = plan_of(advice, summary);
  ASSERT_EQ(plan.entries.size(), before + 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const PlanEntry& entry = plan.entries[before + i];
    ASSERT_EQ(entry.region.size(), 1u);
    EXPECT_EQ(entry.region[0].offset, 0x100 + 0x40 * i);
    EXPECT_EQ(entry.kinds.front(), MemoryKind::dram);
    EXPECT_EQ(entry.instances.size(), 3u); // 0 to 1, 3 to 4, 6 to 7
  }
}

// The runtime counts no small blocks.
TEST(BlocksOfASite, SmallOnesAreNotApart) {
  ProfileSummary summary = eight_blocks();
  summary.sites[0].by_malloc = true;
  summary.sites[0].bytes_total = 8 * (32 << 10);
  EXPECT_EQ(workload_from(summary, {{"a", "b"}, {"outside"}}, k_fast).sites.size(), 1u);
}

TEST(BlocksOfASite, OnlyWhereTheirNumbersCanBeTrusted) {
  const auto parts = [](auto change) {
    ProfileSummary summary = eight_blocks();
    change(summary);
    return workload_from(summary, {{"a", "b"}, {"outside"}}, k_fast).sites.size();
  };
  EXPECT_EQ(parts([](ProfileSummary&) {}), 3u); // two hot ones and the rest
  EXPECT_EQ(parts([](ProfileSummary& summary) { // several threads allocate
              summary.sites[0].blocks_by_one_thread = false;
            }),
            1u);
  EXPECT_EQ(parts([](ProfileSummary& summary) { // some were counted only
              summary.sites[0].objects = 9;
            }),
            1u);
  EXPECT_EQ(parts([](ProfileSummary& summary) { // the runtime sees one site
              SiteSummary other = summary.sites[0];
              other.hot_blocks.clear();
              summary.modules.push_back({"build-id:2", "libc.so", "/libc.so", 0, true});
              other.frames.insert(other.frames.begin(), {1, 0x30});
              summary.sites.push_back(other);
            }),
            2u);
}

// Block 2 and, of 5 and 7, which are equally hot now, the one that the plan named.
TEST(BlocksOfASite, AnEarlierPlansBlocksAreKept) {
  const ProfileSummary before = eight_blocks();
  const Plan plan = plan_of(advice_for_field(before, 32 * MiB), before);
  ProfileSummary now = eight_blocks();
  for (const auto& [block, weight] : {std::pair{5, 19.0}, std::pair{7, 21.0}})
    now.sites[0].instances[block].weight = now.sites[0].instances[block].by_region[0].weight =
        weight;
  for (const bool divided : {true, false}) {
    now.sites[0].hot_blocks =
        divided ? std::vector<std::uint32_t>{2, 7} : std::vector<std::uint32_t>{};
    const std::vector<TierChoice> tiers = {{MemoryKind::dram, 32 * MiB, k_fast},
                                           {MemoryKind::nvm, 1024 * MiB, k_slow}};
    const Workload workload = workload_from(now, {{"field (eight.c:34)"}, {"outside"}}, k_fast);
    const EarlierPlacement earlier = placed_by(plan, workload, now, tiers);
    std::string why_not;
    EXPECT_TRUE(is_consistent(earlier.workload, why_not)) << why_not;
    double demand = 0;
    std::uint64_t bytes = 0;
    std::vector<std::uint32_t> fast;
    for (std::size_t site = 0; site < earlier.workload.sites.size(); ++site) {
      const SiteDemand& part = earlier.workload.sites[site];
      demand += part.demand.total();
      bytes += part.peak_bytes();
      if (earlier.tier_of_site[site] == 0)
        fast.insert(fast.end(), part.blocks.begin(), part.blocks.end());
    }
    EXPECT_NEAR(demand, 100, 1e-9) << divided;
    EXPECT_EQ(bytes, 128 * MiB) << divided;
    EXPECT_EQ(fast, (std::vector<std::uint32_t>{2, 5})) << divided;
  }
}

// What moves while the program runs: blocks that live, by what they belong to, in whole pages.
TEST(LiveRanges, AreTheWholePagesOfLivingBlocks) {
  ProfileSummary summary = eight_blocks();
  for (InstanceSummary& block : summary.sites[0].instances) {
    block.address = (std::uint64_t{block.instance} + 1) * 64 * MiB + 100;
    block.lives = block.instance != 5;
  }
  Workload workload;
  SiteDemand& hot = workload.sites.emplace_back();
  hot.blocks = {2, 5};
  SiteDemand& parts = workload.sites.emplace_back();
  parts.blocks = {7};
  parts.ranges = {{0, MiB}, {15 * MiB, 17 * MiB}}; // the block ends at 16 MiB
  SiteDemand& stays = workload.sites.emplace_back();
  stays.placeable = false;

  const std::vector<LiveRange> ranges = live_ranges(workload, summary);
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges[0].site, 0u);
  EXPECT_EQ(ranges[0].address, 192 * MiB + 4096);
  EXPECT_EQ(ranges[0].bytes, 16 * MiB - 4096);
  EXPECT_EQ(ranges[1].site, 1u);
  EXPECT_EQ(ranges[1].bytes, MiB - 4096);
  EXPECT_EQ(ranges[2].address, 527 * MiB + 4096);
  EXPECT_EQ(ranges[2].bytes, MiB - 4096);
}

TEST(LiveRanges, AreWhereStaticsAreLoaded) {
  ProfileSummary summary;
  summary.modules.emplace_back().bias = 0x40000000;
  SiteSummary& table = summary.sites.emplace_back();
  table.kind = SiteKind::variable;
  table.frames = {{0, 0x5100}};
  table.bytes_largest = 2 * MiB;
  Workload workload;
  workload.sites.emplace_back();

  const std::vector<LiveRange> ranges = live_ranges(workload, summary);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].address, 0x40006000u);
  EXPECT_EQ(ranges[0].bytes, 2 * MiB - 4096);
}

} // namespace
} // namespace omptier
