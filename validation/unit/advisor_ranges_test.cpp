// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sites whose blocks are divided: hot ranges by themselves, and what does not fit as a whole.
#include "advisor/advice.hpp"
#include "advisor/evidence.hpp"
#include "advisor/site_blocks.hpp"
#include "advisor/site_ranges.hpp"
#include "advisor/together.hpp"
#include "advisor_fast_and_slow.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace omptier {
namespace {

// One site of one block, accessed in proportion to heat(position).
template <typename Heat> ProfileSummary one_block(std::uint64_t bytes, Heat heat) {
  ProfileSummary summary;
  summary.measure = Measure::misses;
  summary.nanoseconds = 1000;
  summary.threads = 4;
  summary.modules = {{"build-id:1", "app", "/app", 0, false}};
  summary.regions.emplace_back();
  SiteSummary& site = summary.sites.emplace_back();
  site.frames = {{0, 0x20}};
  site.objects = site.blocks = 1;
  site.bytes_total = site.bytes_peak = site.bytes_largest = bytes;
  site.live = {{0, bytes}};
  for (int i = 0; i < 4096; ++i)
    if (const double weight = heat(i / 4096.0); weight > 0) {
      site.offsets.add_at(i / 4096.0, weight);
      site.accesses.scattered_load += weight;
      ++site.samples;
    }
  site.share = {1, 0.9, 1};
  return summary;
}

Advice advice_for_grid(const ProfileSummary& summary, std::uint64_t dram) {
  const std::vector<std::string> names(summary.sites.size(), "grid (grid.c:34)");
  return advise(workload_from(summary, {names, {"outside"}}, k_fast), tiers(dram));
}

std::uint64_t bytes_of(const PlanEntry& entry, MemoryKind kind) {
  std::uint64_t sum = 0;
  for (const PlanPart& part : entry.parts)
    if (part.kind == kind) sum += part.end - part.begin;
  return sum;
}

TEST(RangesOfASite, WhatFitsOfALargeArrayIsUsed) {
  const ProfileSummary summary = one_block(5 * MiB, [](double) { return 1; });
  const Advice advice = advice_for_grid(summary, 4 * MiB);
  std::string why_not;
  EXPECT_TRUE(is_consistent(advice.workload, why_not)) << why_not;
  const Plan plan = plan_of(advice, summary);
  ASSERT_EQ(plan.entries.size(), 1u);
  const PlanEntry& entry = plan.entries[0];
  EXPECT_EQ(entry.kinds.front(), MemoryKind::nvm);
  // Twelve slices of sixteen: 3.75 MiB.
  EXPECT_GE(bytes_of(entry, MemoryKind::dram), 3700 * 1024u);
  EXPECT_LE(bytes_of(entry, MemoryKind::dram), 4 * MiB);
  ASSERT_EQ(entry.parts.size(), 4u);    // one for each thread
  for (std::size_t i = 0; i < 4; ++i) { // which reach theirs in turn
    const double slow = 0.25 * 5 * MiB / 4, into = double(entry.parts[i].begin) - i * 1.25 * MiB;
    EXPECT_NEAR(into, slow * double(i) / 3, 64 * 1024) << i;
  }
  EXPECT_EQ(entry.bytes, 5 * MiB);
  EXPECT_TRUE(parse_plan(write_plan(plan), "plan"));
}

TEST(RangesOfASite, TheHotPartGetsTheFastMemory) {
  const ProfileSummary summary = one_block(
      64 * MiB, [](double position) { return position >= 0.5 && position < 0.75 ? 30 : 1; });
  const Advice advice = advice_for_grid(summary, 20 * MiB);
  const Plan plan = plan_of(advice, summary);
  ASSERT_EQ(plan.entries.size(), 1u);
  ASSERT_GE(plan.entries[0].parts.size(), 1u);
  std::uint64_t hot = 0;
  for (const PlanPart& part : plan.entries[0].parts)
    if (part.kind == MemoryKind::dram && part.begin >= 30 * MiB && part.end <= 50 * MiB)
      hot += part.end - part.begin;
  EXPECT_GE(hot, 15 * MiB);
  EXPECT_LE(bytes_of(plan.entries[0], MemoryKind::dram), 20 * MiB);
  EXPECT_LT(advice.time, 1.01 * (advice.least_time));
}

// 32 MiB and a bit, as malloc gives it, in units of 2 MiB: thirty of them fit, in four runs.
TEST(RangesOfASite, AnOddSizeLosesOneUnitAtMost) {
  const ProfileSummary summary = one_block(32 * MiB + 4096, [](double) { return 1; });
  const Plan plan = plan_of(advice_for_grid(summary, 31 * MiB), summary);
  ASSERT_EQ(plan.entries.size(), 1u);
  EXPECT_GE(bytes_of(plan.entries[0], MemoryKind::dram), 28 * MiB);
  EXPECT_LE(bytes_of(plan.entries[0], MemoryKind::dram), 31 * MiB);
}

// Eight ranges of a block, each divided for 64 threads: an entry of a plan holds 64 parts.
TEST(RangesOfASite, NoMoreThanAPlanHolds) {
  Workload whole;
  whole.threads = 64;
  Sliced sliced;
  std::vector<std::size_t> tiers;
  for (std::uint64_t range = 0; range < 8; ++range) {
    SiteDemand& part = whole.sites.emplace_back();
    part.block_bytes = 4096 * MiB;
    part.live = {{0, 1, 512 * MiB}};
    part.ranges = {{range * 512 * MiB, (range + 1) * 512 * MiB}};
    for (std::size_t slice = 0; slice < k_slices; ++slice) {
      sliced.from.push_back(range);
      tiers.push_back(slice % 2);
    }
  }
  const Workload joined = join_slices(whole, sliced, tiers);
  std::size_t parts = 0;
  std::uint64_t bytes = 0;
  for (std::size_t at = 0; at < tiers.size(); ++at)
    if (tiers[at] == 0) {
      parts += joined.sites[at].ranges.size();
      for (const ByteRange& range : joined.sites[at].ranges)
        bytes += range.end - range.begin;
    }
  EXPECT_GE(parts, 8u);
  EXPECT_LE(parts, Plan::k_most_parts);
  EXPECT_EQ(bytes, 2048 * MiB);
}

// Room that stays empty costs nothing, so more of it never does.
TEST(RangesOfASite, MoreRoomIsNeverSlower) {
  ProfileSummary summary = one_block(32 * MiB + 4096, [](double at) { return at < 0.3 ? 5 : 1; });
  summary.sites.push_back(summary.sites[0]);
  summary.sites[1].frames = {{0, 0x40}};
  summary.sites[0].share = {0.7, 0.6, 0.8};
  summary.sites[1].share = {0.3, 0.2, 0.4};
  double before = INFINITY;
  for (std::uint64_t room = 2; room <= 68; room += 2) {
    const double time = advice_for_grid(summary, room * MiB).time;
    EXPECT_LE(time, before * 1.0001) << room;
    before = std::min(before, time);
  }
}

TEST(RangesOfASite, NoneWhereItFits) {
  const ProfileSummary summary = one_block(64 * MiB, [](double) { return 1; });
  const Plan plan = plan_of(advice_for_grid(summary, 80 * MiB), summary);
  ASSERT_EQ(plan.entries.size(), 1u);
  EXPECT_TRUE(plan.entries[0].parts.empty());
  EXPECT_EQ(plan.entries[0].kinds.front(), MemoryKind::dram);
  EXPECT_EQ(plan.entries[0].label, "grid (grid.c:34)");
}

TEST(RangesOfASite, NotWhereBlocksDiffer) {
  ProfileSummary summary = one_block(64 * MiB, [](double) { return 1; });
  summary.sites[0].objects = 2;
  summary.sites[0].bytes_total = 100 * MiB;
  const Plan plan = plan_of(advice_for_grid(summary, 40 * MiB), summary);
  ASSERT_EQ(plan.entries.size(), 1u);
  EXPECT_TRUE(plan.entries[0].parts.empty());
  EXPECT_EQ(plan.entries[0].kinds.front(), MemoryKind::nvm);
}

// The hot rows are not known, so any so many of them are as good.
TEST(SmallBlocks, AShareOfThemIsPlacedWhereNotAllFit) {
  ProfileSummary summary = one_block(64 * MiB, [](double) { return 1; });
  SiteSummary& site = summary.sites[0];
  site.objects = site.blocks = 64 * MiB / 2048;
  site.by_malloc = true;
  site.bytes_largest = 2048;
  ASSERT_TRUE(has_small_blocks(site));
  const Advice advice = advice_for_grid(summary, 20 * MiB);
  const Plan plan = plan_of(advice, summary);
  ASSERT_EQ(plan.entries.size(), 1u);
  const PlanEntry& entry = plan.entries[0];
  EXPECT_EQ(entry.kinds, (std::vector{MemoryKind::nvm, MemoryKind::dram}));
  EXPECT_EQ(entry.bytes, 64 * MiB);
  EXPECT_NEAR(entry.share, 44.0 / 64, 1.0 / k_slices);
  EXPECT_TRUE(entry.parts.empty());
  EXPECT_EQ(entry.least_block, 1u);
  EXPECT_TRUE(parse_plan(write_plan(plan), "p.json"));

  const Workload workload = workload_from(summary, {{"grid (grid.c:34)"}, {"outside"}}, k_fast);
  const EarlierPlacement earlier = placed_by(plan, workload, summary, advice.tiers);
  ASSERT_EQ(earlier.tier_of_site.size(), 2u);
  const Advice after = advise(workload, advice.tiers, &earlier);
  EXPECT_TRUE(after.change->is_none) << after.change->saves;
  EXPECT_EQ(plan_of(after, summary).entries[0].share, entry.share);

  const Advice all = advice_for_grid(summary, 80 * MiB);
  EXPECT_EQ(plan_of(all, summary).entries[0].share, 1);

  site.bytes_largest = 256 << 10; // these would go elsewhere than the small ones
  EXPECT_EQ(plan_of(advice_for_grid(summary, 20 * MiB), summary).entries[0].share, 1);
}

TEST(SmallBlocks, AreDividedBetweenTwoKindsOnly) {
  Workload workload;
  SiteDemand& site = workload.sites.emplace_back();
  site.live = {{0, 100, 64 * MiB}};
  site.demand.of(Manner::scattered_load) = 1e6;
  site.block_bytes = 64 * MiB;
  site.small_blocks = true;
  const std::vector<TierChoice> tiers = {{MemoryKind::hbm, 12 * MiB, {60, 60, 400e9, 400e9}},
                                         {MemoryKind::dram, 20 * MiB, k_fast},
                                         {MemoryKind::nvm, 1024 * MiB, k_slow}};
  const Advice advice = advise(workload, tiers);
  ASSERT_EQ(advice.workload.sites.size(), 2u);
  const double part = part_of_block(advice.workload.sites[0]);
  EXPECT_NEAR(part + part_of_block(advice.workload.sites[1]), 1, 1e-9);
  EXPECT_NEAR(std::max(part, 1 - part), 1 - 8.0 / 16, 0.2) << "HBM's three slices are DRAM's";
}

TEST(RangesOfASite, FewSamplesSayNothing) {
  ProfileSummary summary = one_block(64 * MiB, [](double position) { return position < 0.005; });
  ASSERT_LT(summary.sites[0].samples, 64u);
  const Advice advice = advice_for_grid(summary, 20 * MiB);
  // Divided, but evenly.
  for (const SiteDemand& site : advice.workload.sites)
    EXPECT_NEAR(site.share, double(site.peak_bytes()) / double(64 * MiB), 0.01) << site.label;
}

// Arrays that a loop accesses together.
Workload streams(int arrays, std::uint64_t bytes) {
  Workload workload;
  workload.threads = 32;
  workload.loop_work.resize(1);
  for (int i = 0; i < arrays; ++i) {
    SiteDemand& site = workload.sites.emplace_back();
    site.label = std::string(1, static_cast<char>('a' + i));
    site.site = static_cast<std::size_t>(i);
    site.live = {{0, 100, bytes}};
    site.demand.of(Manner::streamed_load) = 1e6;
    site.by_loop = {{0, 1}};
    site.block_bytes = bytes;
    site.instances = 1;
  }
  return workload;
}

// 105 and 21 of 126 GB/s: a fifth of the bytes is to lie in the slower memory though all would fit.
TEST(ArraysTogether, UseTheBandwidthOfBothMemories) {
  const std::vector<TierChoice> tiers = {
      {MemoryKind::hbm, 1024 * MiB, {130, 130, 100e9, 100e9}},
      {MemoryKind::dram, 1024 * MiB, {80, 80, 25e9, 25e9}}};
  const Advice advice = advise(streams(5, 64 * MiB), tiers);
  std::uint64_t in_dram = 0;
  for (std::size_t site = 0; site < advice.workload.sites.size(); ++site)
    if (advice.placement.tier_of_site[site] == 1)
      in_dram += advice.workload.sites[site].peak_bytes();
  EXPECT_NEAR(double(in_dram), 64.0 * MiB, 16.0 * MiB);
  const double all_fast =
      predicted_time(streams(5, 64 * MiB), tiers, std::vector<std::size_t>(5, 0));
  EXPECT_LT(advice.time, 0.92 * all_fast);
  EXPECT_LE(advice.least_time, advice.time * (1 + 1e-9));
  EXPECT_GT(advice.least_time, 0.95 * advice.time);
}

// A loop that waits for the slowest of its three arrays gains nothing from one of them in the fast
// memory, and most from all three; one other array gains a little alone.
TEST(ArraysTogether, APlacementOfAllPaysThoughNoSingleOneDoes) {
  Workload workload = streams(3, 30 * MiB);
  SiteDemand& alone = workload.sites.emplace_back(workload.sites[0]);
  alone.site = 3;
  alone.live = {{0, 100, 90 * MiB}};
  alone.by_loop.clear();
  alone.demand = {};
  alone.demand.of(Manner::streamed_load) = 1e6;
  for (SiteDemand& site : workload.sites)
    site.block_bytes = 0; // whole only
  const std::vector<TierChoice> tiers = {{MemoryKind::dram, 90 * MiB, {80, 80, 100e9, 100e9}},
                                         {MemoryKind::nvm, 1024 * MiB, {300, 300, 30e9, 10e9}}};
  EXPECT_EQ(advise(workload, tiers).placement.tier_of_site, (std::vector<std::size_t>{0, 0, 0, 1}));
}

// No tier but the last is over its capacity, at any moment before 140.
bool fits(const Workload& workload, const std::vector<TierChoice>& tiers,
          const std::vector<std::size_t>& where) {
  for (std::uint64_t time = 0; time < 140; ++time) {
    std::vector<std::uint64_t> bytes(tiers.size());
    for (std::size_t i = 0; i < where.size(); ++i)
      if (const LiveStretch& live = workload.sites[i].live[0];
          live.begin <= time && time < live.end)
        bytes[where[i]] += live.bytes;
    for (std::size_t tier = 0; tier + 1 < tiers.size(); ++tier)
      if (bytes[tier] > tiers[tier].capacity) return false;
  }
  return true;
}

// Of all placements.
double best_time(const Workload& workload, const std::vector<TierChoice>& tiers) {
  double best = INFINITY;
  std::vector<std::size_t> where(workload.sites.size(), 0);
  while (true) {
    if (const double time = predicted_time(workload, tiers, where);
        time < best && fits(workload, tiers, where))
      best = time;
    std::size_t digit = 0;
    while (digit < where.size() && ++where[digit] == tiers.size())
      where[digit++] = 0;
    if (digit == where.size()) return best;
  }
}

// Against every placement of random loops.
TEST(ArraysTogether, AreAsGoodAsTheBestAndNeverBelowTheBound) {
  std::mt19937_64 random(20261124);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  double worst = 0;
  for (int round = 0; round < 200; ++round) {
    Workload workload;
    workload.threads = 1 + static_cast<unsigned>(below(64));
    for (int i = 0; i < 3; ++i)
      workload.loop_work.push_back(below(2) == 0 ? 0 : static_cast<double>(below(1000000)));
    for (int i = 0; i < 7; ++i) {
      SiteDemand& site = workload.sites.emplace_back();
      const std::uint64_t begin = below(80);
      site.live = {{begin, begin + 1 + below(60), (1 + below(60)) * MiB}};
      for (double& accesses : site.demand.accesses)
        accesses = below(2) == 0 ? 0 : static_cast<double>(below(10000));
      double left = 1;
      for (std::uint32_t loop = 0; loop < 3; ++loop)
        if (below(2) == 0) {
          const double part = left * static_cast<double>(below(100)) / 100;
          site.by_loop.push_back({loop, part});
          left -= part;
        }
    }
    const std::vector<TierChoice> tiers = {{MemoryKind::hbm, 40 * MiB, {130, 130, 400e9, 400e9}},
                                           {MemoryKind::dram, 80 * MiB, {80, 80, 100e9, 100e9}},
                                           {MemoryKind::nvm, 4096 * MiB, {300, 900, 30e9, 10e9}}};
    const Advice advice = advise(workload, tiers);
    const double best = best_time(workload, tiers);
    EXPECT_LE(advice.least_time, best * (1 + 1e-9)) << round;
    worst = std::max(worst, advice.time / best - 1);
  }
  EXPECT_LT(worst, 1e-4);
}

// What a loop works is no placement's to save, so the bound contains it.
TEST(ArraysTogether, TheBoundKnowsOfTheWork) {
  Workload workload;
  workload.loop_work = {1e6};
  SiteDemand& site = workload.sites.emplace_back();
  site.live = {{0, 1, 64 * MiB}};
  site.demand.of(Manner::streamed_load) = 1000;
  site.by_loop = {{0, 1}};
  const Advice advice = advise(workload, {{MemoryKind::dram, 32 * MiB, {80, 80, 100e9, 100e9}},
                                          {MemoryKind::nvm, 4096 * MiB, {300, 900, 30e9, 10e9}}});
  EXPECT_GT(advice.least_time, 0.999e6);
  EXPECT_LE(advice.least_time, advice.time);
}

TEST(Gain, IsOfTheWholeRun) {
  Workload workload;
  SiteDemand& site = workload.sites.emplace_back();
  site.live = {{0, 1, 1 * MiB}};
  site.demand.of(Manner::scattered_load) = 1000; // 80 ns each, or 300
  const std::vector<TierChoice> tiers = {{MemoryKind::dram, 32 * MiB, {80, 80, 100e9, 100e9}},
                                         {MemoryKind::nvm, 4096 * MiB, {300, 900, 30e9, 10e9}}};
  const Gain waits = gain_of(advise(workload, tiers));
  EXPECT_NEAR(waits.value, 300.0 / 80, 1e-6);
  EXPECT_LE(waits.low, 1); // nobody knows what it works beside
  workload.measure = Measure::time;
  workload.rest = 1000 * 140;
  const Gain time = gain_of(advise(workload, tiers));
  EXPECT_NEAR(time.value, (300.0 + 140) / (80 + 140), 1e-6);
  EXPECT_GT(time.low, 1);
  EXPECT_LT(time.low, time.value);
  EXPECT_GT(time.high, time.value);
}

// The recorded run's seconds, in proportion to the model's time; of misses nobody knows.
TEST(Gain, APlanSaysWhatTheRunIsExpectedToTake) {
  ProfileSummary summary = one_block(64 * MiB, [](double) { return 1.0; });
  summary.nanoseconds = 3'000'000'000;
  EXPECT_EQ(plan_of(advice_for_grid(summary, 20 * MiB), summary).predicted_seconds, 0);
  summary.measure = Measure::time;
  summary.other.accesses.scattered_load = 4096; // as much as all in the block
  const Advice advice = advice_for_grid(summary, 20 * MiB);
  const Plan plan = plan_of(advice, summary);
  EXPECT_EQ(plan.recorded_seconds, 3);
  EXPECT_NEAR(plan.predicted_seconds, 3 * advice.time / weight_of_all(summary), 1e-6);
  EXPECT_GT(plan.predicted_seconds, 3); // recorded in DRAM
  Advice by_more = advice;
  by_more.workload.threads = 8; // twice as many, which take as much time together
  EXPECT_NEAR(plan_of(by_more, summary).predicted_seconds, plan.predicted_seconds / 2, 1e-6);
}

// A divided block's memory is not kept for the next.
TEST(RangesOfASite, TemporariesStayWhole) {
  ProfileSummary summary = one_block(64 * MiB, [](double) { return 1.0; });
  SiteSummary& site = summary.sites[0];
  EXPECT_EQ(bytes_to_divide(site), 64 * MiB);
  site.objects = site.blocks = 10;
  site.bytes_total = 640 * MiB;
  EXPECT_EQ(bytes_to_divide(site), 0u);
  site.bytes_peak = 320 * MiB; // five live at once
  EXPECT_EQ(bytes_to_divide(site), 64 * MiB);
}

TEST(RangesOfASite, AnEarlierPlansPartsAreKept) {
  const std::vector<TierChoice> tiers = {{MemoryKind::dram, 20 * MiB, k_fast},
                                         {MemoryKind::nvm, 1024 * MiB, k_slow}};
  const auto hot_from = [&](double begin) {
    return one_block(64 * MiB, [=](double position) {
      return position >= begin && position < begin + 0.25 ? 30 : 1;
    });
  };
  const Plan plan = plan_of(advice_for_grid(hot_from(0.5), 20 * MiB), hot_from(0.5));
  const auto after_plan = [&](const ProfileSummary& summary) {
    const Workload workload = workload_from(summary, {{"grid (grid.c:34)"}, {"outside"}}, k_fast);
    const EarlierPlacement earlier = placed_by(plan, workload, summary, tiers);
    return advise(workload, tiers, &earlier);
  };
  const ProfileSummary nearly = hot_from(0.49);
  const Advice kept = after_plan(nearly);
  EXPECT_TRUE(kept.change->is_none) << kept.change->saves;
  const Plan again = plan_of(kept, nearly);
  ASSERT_EQ(again.entries.size(), 1u);
  EXPECT_EQ(bytes_of(again.entries[0], MemoryKind::dram),
            bytes_of(plan.entries[0], MemoryKind::dram));
  const auto begin = [](const PlanEntry& entry) {
    return std::ranges::min(entry.parts, {}, &PlanPart::begin).begin;
  };
  EXPECT_EQ(begin(again.entries[0]), begin(plan.entries[0]));
  const ProfileSummary elsewhere = hot_from(0);
  const Advice changed = after_plan(elsewhere);
  EXPECT_FALSE(changed.change->is_none);
  EXPECT_LT(begin(plan_of(changed, elsewhere).entries[0]), 16 * MiB);
}

} // namespace
} // namespace omptier
