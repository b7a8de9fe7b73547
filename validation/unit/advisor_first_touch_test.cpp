// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// New pages as a part of what sites cost: by hand, in advice that they decide, and from profiles
// whose samples may contain the kernel's clears already.
#include "advisor/evidence.hpp"
#include "advisor/explain.hpp"
#include "advisor/together.hpp"
#include "advisor_fast_and_slow.hpp"
#include "model/first_touch.hpp"

#include <gtest/gtest.h>

namespace omptier {
namespace {

constexpr double k_lines = MiB / 64.0;

// DRAM with room for one array of 32 MiB, and NVM. One thread waits for latencies, with 16 lines in
// flight: a streamed load takes 80 / 16 = 5 and 300 / 16 = 18.75 ns, a streamed store 5 and 900 /
// 16 = 56.25 ns.
std::vector<TierChoice> dram_and_nvm(bool reuses) {
  const Figures dram{80, 80, 100e9, 100e9}, nvm{300, 900, 30e9, 10e9};
  return {{MemoryKind::dram, 32 * MiB, dram, false, reuses},
          {MemoryKind::nvm, 1024 * MiB, nvm, false, reuses}};
}

SiteDemand array(const char* label, double loads, double stores) { // lines
  SiteDemand made;
  made.label = label;
  made.live = {{0, 100, 32 * MiB}};
  made.demand.of(Manner::streamed_load) = loads;
  made.demand.of(Manner::streamed_store) = stores;
  return made;
}

// The field is read six times in each of ten steps. The temporary is written and read once in each,
// in new pages or in those of the one before.
Workload steps() {
  Workload workload;
  workload.sites = {array("field", 60 * 32 * k_lines, 0),
                    array("temporary", 10 * 32 * k_lines, 10 * 32 * k_lines)};
  workload.sites[1].new_pages = {10.0 * 32 * MiB, 1.0 * 32 * MiB};
  workload.sites[0].new_pages = {1.0 * 32 * MiB, 1.0 * 32 * MiB};
  return workload;
}

TEST(FirstTouch, CostsOneAndAHalfStoresOfEachLine) {
  EXPECT_DOUBLE_EQ(first_touch_demand(64 * 100.0).of(Manner::streamed_store), 150);
  EXPECT_DOUBLE_EQ(first_touch_demand(64 * 100.0).total(), 150);
  const Workload workload = steps();
  const double once = 1.5 * 32 * k_lines; // stores
  for (const bool reuses : {true, false}) {
    const auto tiers = dram_and_nvm(reuses);
    const double times = reuses ? 1 : 10;
    EXPECT_NEAR(first_touch_time(workload.sites[1], tiers[0], 1), times * once * 5, 1);
    EXPECT_NEAR(first_touch_time(workload.sites[1], tiers[1], 1), times * once * 56.25, 1);
    const CostTable costs = cost_table(workload, tiers);
    EXPECT_NEAR(costs[1][1], 10 * 32 * k_lines * (18.75 + 56.25) + times * once * 56.25, 1);
    // Regions begin after the pages have come.
    EXPECT_DOUBLE_EQ(cost_table(workload, tiers, 0)[1][1], 0);
  }
}

// Against DRAM the field costs 60 · 13.75 a line more in NVM, the temporary 10 · (13.75 + 51.25),
// and its new pages 10 · 1.5 · 51.25 or a tenth of that: only if each step has new pages it wins.
TEST(FirstTouch, DecidesWhereEachStepHasNewPages) {
  for (const bool reuses : {true, false}) {
    const Workload workload = steps();
    const auto tiers = dram_and_nvm(reuses);
    const CostTable costs = cost_table(workload, tiers);
    std::vector<std::size_t> placed = place_by_density(workload, tiers, costs).tier_of_site;
    const std::size_t winner = reuses ? 0 : 1;
    EXPECT_EQ(placed[winner], 0u);
    EXPECT_EQ(placed[1 - winner], 1u);
    const std::string reason = reason_for(workload, tiers, costs, winner, 0, all_peaks(workload));
    EXPECT_EQ(reason.find("first touch") != std::string::npos, !reuses) << reason;
    EXPECT_EQ(reason.find("53 % of that is its pages' first touch") != std::string::npos, !reuses);
  }
}

// In whole loops' times, and in the time of a divided site, they are neither lost nor doubled.
TEST(FirstTouch, IsInNoLoop) {
  Workload workload = steps();
  workload.loop_work.resize(1);
  workload.sites[1].by_loop = {{0, 1}};
  const auto tiers = dram_and_nvm(false);
  const std::size_t nvm[] = {1, 1};
  const double all = predicted_time(workload, tiers, nvm);
  const double first = first_touch_time(workload.sites[0], tiers[1], 1) +
                       first_touch_time(workload.sites[1], tiers[1], 1);
  for (SiteDemand& site : workload.sites)
    site.new_pages = {};
  EXPECT_NEAR(all - predicted_time(workload, tiers, nvm), first, 1e-6 * all);
  EXPECT_DOUBLE_EQ(steps().sites[1].scaled(0.25).new_pages.always, 80.0 * MiB);
}

ProfileSummary recorded(const char* source, Measure measure, std::uint64_t block) {
  ProfileSummary summary;
  summary.measure = measure;
  summary.runs.emplace_back().source = source;
  summary.regions.emplace_back();
  SiteSummary& site = summary.sites.emplace_back();
  site.accesses.streamed_load = 100;
  site.accesses.streamed_store = 250;
  site.first_touch.streamed_store = 150; // of these
  site.bytes_largest = site.bytes_peak = block;
  site.objects = 10;
  site.live = {{0, block}};
  site.fresh = {10 * block, block, block};
  site.share.value = 1;
  return summary;
}

SiteDemand demand_from(const ProfileSummary& summary, Terms terms = {}) {
  terms.parts = false;
  return workload_from(summary, {{"a"}, {""}}, {}, terms).sites[0];
}

TEST(FirstTouch, IsNotCountedTwice) {
  const SiteDemand huge = demand_from(recorded("machine", Measure::misses, 8 * MiB));
  EXPECT_DOUBLE_EQ(huge.demand.of(Manner::streamed_store), 100);
  EXPECT_DOUBLE_EQ(huge.demand.of(Manner::streamed_load), 100);
  EXPECT_DOUBLE_EQ(huge.new_pages.always, 72.0 * MiB); // less those of the first block
  EXPECT_DOUBLE_EQ(huge.new_pages.reused, 0);
  // In small pages the clears stand for the program's own stores.
  const SiteDemand small = demand_from(recorded("machine", Measure::misses, MiB));
  EXPECT_DOUBLE_EQ(small.demand.of(Manner::streamed_store), 250);
  // Timers' samples contain the kernel's time.
  EXPECT_DOUBLE_EQ(demand_from(recorded("timer", Measure::time, 8 * MiB)).new_pages.always, 0);
  const SiteDemand by_perf = demand_from(recorded("perf", Measure::time, 8 * MiB));
  EXPECT_DOUBLE_EQ(by_perf.new_pages.always, 72.0 * MiB);
}

// A longer run of a program clears what it keeps no more often than a short one.
TEST(FirstTouch, OfWhatStaysIsNoReason) {
  ProfileSummary summary = recorded("machine", Measure::misses, 80 * MiB);
  summary.sites[0].objects = 1;
  summary.sites[0].fresh = {80 * MiB, 80 * MiB, 80 * MiB};
  const SiteDemand stays = demand_from(summary);
  EXPECT_DOUBLE_EQ(stays.new_pages.always, 0);
  EXPECT_DOUBLE_EQ(stays.new_pages.reused, 0);
  EXPECT_DOUBLE_EQ(stays.demand.of(Manner::streamed_store), 100);
}

TEST(FirstTouch, CanBeLeftOut) {
  Terms terms;
  terms.new_pages = false;
  const SiteDemand without = demand_from(recorded("machine", Measure::misses, 8 * MiB), terms);
  EXPECT_DOUBLE_EQ(without.new_pages.always, 0);
  EXPECT_DOUBLE_EQ(without.demand.of(Manner::streamed_store), 100);
}

TEST(FirstTouch, TiersOfSeveralNodesReuseNothing) {
  Platform platform;
  platform.tiers = {{MemoryKind::dram, {0, 1}, 64 * MiB, {}}, {MemoryKind::nvm, {2}, 64 * MiB, {}}};
  const auto tiers = usable_tiers(platform, {});
  EXPECT_FALSE(tiers[0].reuses);
  EXPECT_TRUE(tiers[1].reuses);
}

} // namespace
} // namespace omptier
