// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sites that the user keeps in a kind of memory, and demand from the lines that loops access.
#include "advisor/advice.hpp"
#include "advisor/evidence.hpp"
#include "advisor/kept.hpp"
#include "advisor/traffic.hpp"
#include "advisor_fast_and_slow.hpp"
#include "model/cost.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace omptier {
namespace {

SiteDemand site_of(const std::string& label, double loads) {
  SiteDemand site;
  site.label = label;
  site.live = {{0, 1000, 64 * MiB}};
  site.demand.of(Manner::scattered_load) = loads;
  return site;
}

Workload two_sites() {
  Workload workload;
  workload.sites = {site_of("grid (grid.c:34)", 1e6), site_of("table (grid.c:40)", 1e3)};
  return workload;
}

TEST(Kept, TheOthersGetTheRoomThatIsLeft) {
  Workload workload = two_sites();
  EXPECT_EQ(advise(workload, tiers(64 * MiB)).placement.tier_of_site,
            (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(keep_sites(workload, tiers(64 * MiB), "table=DRAM"), "");
  EXPECT_EQ(advise(workload, tiers(64 * MiB)).placement.tier_of_site,
            (std::vector<std::size_t>{1, 0}));
}

TEST(Kept, WhatIsWrongIsOneLine) {
  Workload workload = two_sites();
  const auto error = [&](const char* wish) { return keep_sites(workload, tiers(64 * MiB), wish); };
  EXPECT_NE(error("grid").find("is not NAME=KIND"), std::string::npos);
  EXPECT_NE(error("=dram").find("is not NAME=KIND"), std::string::npos);
  EXPECT_NE(error("grid=hbm").find("none of the kinds to place in (dram, nvm)"), std::string::npos)
      << error("grid=hbm");
  EXPECT_NE(error("gird=dram").find("'gird' in its name"), std::string::npos);
  EXPECT_EQ(error("grid (grid=dram"), "");
  EXPECT_NE(error("34=nvm").find("already kept in DRAM"), std::string::npos);
}

TEST(Kept, WithoutRoomItIsSaid) {
  Workload workload = two_sites();
  EXPECT_EQ(keep_sites(workload, tiers(63 * MiB), "grid.c=dram"), "");
  const Advice advice = advise(std::move(workload), tiers(63 * MiB));
  const std::string error = kept_without_room(advice.workload, advice.placement, advice.tiers);
  EXPECT_NE(error.find("is to be kept in DRAM"), std::string::npos) << error;
}

// A loop that waits for one array only, while it streams through another and gathers from a third
// that fits the cache.
ProfileSummary summary_of_loop() {
  ProfileSummary summary;
  summary.measure = Measure::time;
  summary.threads = 1;
  summary.runs.emplace_back().caches = {8 * MiB, 8 * MiB};
  for (const std::uint64_t bytes : {64 * MiB, 64 * MiB, 1 * MiB})
    summary.sites.emplace_back().bytes_peak = bytes;
  LoopTraffic loop;
  loop.nanoseconds = 1; // memory would take longer
  loop.sites.resize(3);
  for (std::uint32_t site = 0; site < 3; ++site)
    loop.sites[site].site = site;
  loop.sites[0].lines.streamed_load = 2;
  loop.sites[1].lines.streamed_load = 1;
  loop.sites[2].lines.gathered_load = 1;
  summary.traffic = {loop};
  return summary;
}

// Of the loop, with what count_traffic() made of it.
double time_of_loop(const std::vector<SiteDemand>& sites, const std::vector<double>& work) {
  LoopTimes times({&k_fast, 1}, 1, work);
  const LoopPart whole{0, 1};
  for (const SiteDemand& site : sites)
    times.add({site.demand, {&whole, 1}}, 0);
  return times.time();
}

TEST(Traffic, ALoopsTimeIsDividedByItsLines) {
  std::vector<SiteDemand> sites(3);
  sites[0].demand.of(Manner::streamed_load) = 100; // all samples are on the first
  const std::vector<double> work = count_traffic(sites, summary_of_loop(), k_fast);
  const double first = sites[0].demand.of(Manner::streamed_load);
  EXPECT_DOUBLE_EQ(sites[1].demand.of(Manner::streamed_load), first / 2);
  EXPECT_LT(sites[2].demand.of(Manner::scattered_load), 0.05 * first); // mostly cached
  EXPECT_EQ(work, std::vector{0.0});
  EXPECT_NEAR(time_of_loop(sites, work), 1, 1e-6);
}

TEST(Traffic, ALoopThatIsSlowerThanItsLinesWorksBeside) {
  ProfileSummary summary = summary_of_loop();
  summary.traffic[0].nanoseconds = 1000;
  std::vector<SiteDemand> sites(3);
  const std::vector<double> work = count_traffic(sites, summary, k_fast);
  EXPECT_DOUBLE_EQ(sites[0].demand.of(Manner::streamed_load), 2); // as its pace says
  EXPECT_NEAR(time_of_loop(sites, work), 1000, 1e-6);
}

// Steps that stay near each other find their lines in the cache, however large the object.
TEST(Traffic, ScatteredAccessesThatStayNearAreCached) {
  ProfileSummary summary = summary_of_loop();
  summary.traffic[0].nanoseconds = 1000;
  Lines& lines = summary.traffic[0].sites[0].lines;
  lines = {};
  lines.gathered_load = 1;
  const auto misses = [&](double reach) {
    lines.with_reach = reach > 0 ? 1 : 0;
    lines.reach_sum = reach;
    std::vector<SiteDemand> sites(3);
    count_traffic(sites, summary, k_fast);
    return sites[0].demand.of(Manner::scattered_load);
  };
  EXPECT_LT(misses(1 * MiB), 0.1 * misses(0));
  EXPECT_NEAR(misses(16 * MiB), 0.793, 1e-3); // 61,000 others come meanwhile
  EXPECT_DOUBLE_EQ(misses(1024 * MiB), misses(0));
}

// An array as large as the cache, and a stream beside it: 27 % of the gathers miss in the virtual
// machine. 1 - exp(-x) + 0.22 x = 1 has the root 1.273, of which exp(-x) is 0.280.
TEST(Traffic, StreamsPushOutWhatIsGathered) {
  ProfileSummary summary = summary_of_loop();
  summary.traffic[0].nanoseconds = 1e6;
  summary.sites[2].bytes_peak = 8 * MiB;
  summary.traffic[0].sites[0].lines.streamed_load = 0.22;
  summary.traffic[0].sites[1].lines = {};
  std::vector<SiteDemand> sites(3);
  count_traffic(sites, summary, k_fast);
  EXPECT_NEAR(sites[2].demand.of(Manner::scattered_load), 0.280, 1e-3);
  EXPECT_DOUBLE_EQ(sites[0].demand.of(Manner::streamed_load), 0.22);
}

// The recording's last level held the third array, and its time says so; elsewhere another decides.
TEST(Traffic, TheLastLevelIsTheTargets) {
  ProfileSummary summary = summary_of_loop();
  summary.traffic[0].nanoseconds = 1000; // enough for all lines
  const auto counted = [&](double cache) {
    std::vector<SiteDemand> sites(3);
    count_traffic(sites, summary, k_fast, {}, {cache});
    return sites;
  };
  const std::vector<SiteDemand> recorded = counted(0), same = counted(8 * MiB),
                                small = counted(MiB);
  const auto gathers = [](const std::vector<SiteDemand>& sites) {
    return sites[2].demand.of(Manner::scattered_load);
  };
  EXPECT_DOUBLE_EQ(gathers(same), gathers(recorded));
  EXPECT_NEAR(gathers(small) / gathers(recorded), 0.773 / 0.094, 0.05);
  EXPECT_DOUBLE_EQ(small[0].demand.of(Manner::streamed_load),
                   recorded[0].demand.of(Manner::streamed_load));
}

// Memory would take longer for its lines than the loop did. A cache may have held them, which says
// nothing of another machine; but even a cache takes 30 ns for each, of which 16 are at once.
TEST(Traffic, NoMoreLinesAreCountedThanACacheBringsInTime) {
  ProfileSummary summary = summary_of_loop();
  summary.traffic[0].sites[2].lines = {};
  const auto streamed = [&](double cache) {
    std::vector<SiteDemand> sites(3);
    count_traffic(sites, summary, k_fast, {}, {cache});
    return sites[0].demand.of(Manner::streamed_load);
  };
  const double cache = 3 * 30 / k_prefetch_lines;
  EXPECT_LT(streamed(0), 2 / cache);
  EXPECT_DOUBLE_EQ(streamed(8 * MiB), 2 / cache);
  summary.traffic[0].nanoseconds = cache;
  EXPECT_DOUBLE_EQ(streamed(8 * MiB), 2);
}

// 100 gathers from 4 MiB, of which the core's own cache holds a quarter, and the last level all but
// 1 %: 74 waited for it, five at a time. What the loop takes besides is work everywhere.
TEST(Traffic, WaitsForTheRecordingsCacheAreNoWorkElsewhere) {
  ProfileSummary summary = summary_of_loop();
  summary.sites[2].bytes_peak = 4 * MiB;
  summary.traffic[0].nanoseconds = 500;
  summary.traffic[0].sites[0].lines = summary.traffic[0].sites[1].lines = {};
  summary.traffic[0].sites[2].lines.gathered_load = 100;
  const double waited = 74 * 30 / 5.0, memory = 1 * k_fast.read_latency / 5;
  const auto work = [&](const CachePart& cache) {
    std::vector<SiteDemand> sites(3);
    const double of_loop = count_traffic(sites, summary, k_fast, {}, cache)[0];
    if (cache.bytes != double{MiB}) {
      EXPECT_NEAR(sites[2].demand.of(Manner::scattered_load), 1, 1e-3);
    }
    return of_loop;
  };
  EXPECT_NEAR(work({}), work_beside(memory, 500), 0.02);
  const double computing = work_beside(memory + waited, 500);
  EXPECT_NEAR(work({8 * MiB, 0}), computing, 1);
  EXPECT_NEAR(work({MiB, 30}), computing, 1); // it holds nothing that the core's own does not
  EXPECT_DOUBLE_EQ(work({8 * MiB, 30}), work({})); // as the recording's
  summary.traffic[0].nanoseconds = 50;             // the cache must have been faster
  EXPECT_DOUBLE_EQ(work({8 * MiB, 30}), work({}));
}

// 32 pages are watched. Rows of a sparse matrix have a bound each, and entries that are gathered.
TEST(Traffic, StreamsAreLostBetweenGathersInManyPages) {
  ProfileSummary summary = summary_of_loop();
  summary.traffic[0].nanoseconds = 1e6;
  summary.sites[2].bytes_peak = 64 * MiB;
  summary.traffic[0].sites[1].lines.streamed_load = 0.1;
  const auto lost = [&](double gathers) {
    summary.traffic[0].sites[2].lines.gathered_load = gathers;
    std::vector<SiteDemand> sites(3);
    count_traffic(sites, summary, k_fast);
    EXPECT_EQ(sites[0].demand.of(Manner::scattered_load), 0); // its lines come often
    if (sites[1].demand.of(Manner::scattered_load) > 0) {     // three in four one at a time
      EXPECT_DOUBLE_EQ(sites[1].demand.at_once, 1 / (0.75 + 0.25 / k_gathered_at_once));
    }
    return sites[1].demand.of(Manner::scattered_load);
  };
  EXPECT_EQ(lost(2), 0);
  EXPECT_NEAR(lost(2.8), 0.05, 1e-9);
  EXPECT_NEAR(lost(4), 0.1, 1e-9);
  summary.traffic[0].sites[1].lines.alone = 0.1; // each the only line of its block, lost or not
  std::vector<SiteDemand> sites(3);
  count_traffic(sites, summary, k_fast);
  EXPECT_EQ(sites[1].demand.clustered, 0);
  summary.traffic[0].sites[1].lines.alone = 0;
  Lines& near = summary.traffic[0].sites[2].lines;
  near.with_reach = 4;
  near.reach_sum = 4 * 64 * 1024;
  EXPECT_EQ(lost(4), 0);
}

// 64 MiB that are allocated five times have 5 Mi lines to store and to load, in the loops' parts.
TEST(Traffic, WhatIsAllocatedAnewIsWrittenAndRead) {
  ProfileSummary summary = summary_of_loop();
  summary.traffic[0].nanoseconds = 1e12;
  summary.traffic.push_back(summary.traffic[0]);
  summary.traffic[0].sites[0].lines.streamed_store = 3e5;
  summary.traffic[1].sites[0].lines.streamed_store = 1e5;
  SiteSummary& site = summary.sites[0];
  for (int i = 0; i < 1000; ++i)
    site.offsets.add_at(i / 1000.0, 1);
  const auto counted = [&] {
    std::vector<SiteDemand> sites(3);
    count_traffic(sites, summary, k_fast);
    return sites[0];
  };
  EXPECT_NEAR(counted().demand.of(Manner::streamed_store), 4e5, 1);
  site.fresh = {5 * 64 * MiB, 64 * MiB};
  const SiteDemand demand = counted();
  EXPECT_NEAR(demand.demand.of(Manner::streamed_store), 5 << 20, 1);
  EXPECT_NEAR(demand.demand.of(Manner::streamed_load), 5 << 20, 1);
  ASSERT_EQ(demand.by_loop.size(), 2u);
  EXPECT_GT(demand.by_loop[0].part, demand.by_loop[1].part);
  Terms without;
  without.new_pages = false;
  std::vector<SiteDemand> sites(3);
  count_traffic(sites, summary, k_fast, without);
  EXPECT_NEAR(sites[0].demand.of(Manner::streamed_store), 4e5, 1);
  site.offsets = {}; // nobody knows whether it is touched
  EXPECT_NEAR(counted().demand.of(Manner::streamed_store), 4e5, 1);
}

// What cannot be placed has its part of the time.
TEST(Traffic, ALoopWaitsForWhatCannotBePlacedToo) {
  std::vector<SiteDemand> all(3), some(3);
  some[0].placeable = false;
  count_traffic(all, summary_of_loop(), k_fast);
  count_traffic(some, summary_of_loop(), k_fast);
  EXPECT_EQ(some[0].demand.total(), 0);
  EXPECT_GT(some[1].demand.total(), 0);
  EXPECT_DOUBLE_EQ(some[1].demand.total(), all[1].demand.total());
}

// Of a last level that other guests use, too, each thread has its own part only.
TEST(Traffic, OthersUseTheRestOfTheCache) {
  ProfileSummary summary = summary_of_loop();
  const auto scattered = [&] {
    std::vector<SiteDemand> sites(3);
    count_traffic(sites, summary, k_fast);
    return sites[2].demand.of(Manner::scattered_load) / sites[0].demand.of(Manner::streamed_load);
  };
  const double alone = scattered();
  summary.runs[0].caches.own = 512 * 1024;
  EXPECT_NEAR(scattered() / alone, 0.881 / 0.094, 0.05);
  summary.threads = 16; // together all of the last level
  EXPECT_NEAR(scattered(), alone, 1e-9);
}

TEST(Traffic, WithoutLoopsNothingIsChanged) {
  ProfileSummary summary = summary_of_loop();
  summary.traffic.clear();
  std::vector<SiteDemand> sites(3);
  sites[0].demand.of(Manner::streamed_load) = 100;
  count_traffic(sites, summary, k_fast);
  EXPECT_EQ(sites[0].demand.total(), 100);
}

TEST(Traffic, LoopsAreNumberedAlsoWithoutTheirLines) {
  ProfileSummary summary = summary_of_loop();
  summary.regions.emplace_back();
  CodeSummary& code = summary.code.emplace_back();
  code.at = {0, 0x1001};
  code.loop = 0x1000;
  code.weight = 1;
  code.by_site.push_back({0, 1, 1});
  summary.sites[0].kind = SiteKind::allocation;
  Terms terms;
  terms.lines = false;
  std::string why_not;
  for (const Terms& some : {Terms{}, terms}) {
    const Workload workload = workload_from(summary, {{"a", "b", "c"}, {""}}, k_fast, some);
    ASSERT_FALSE(workload.sites[0].by_loop.empty());
    EXPECT_TRUE(is_consistent(workload, why_not)) << why_not;
  }
}

// Its samples there may look like another manner, with other counts for the same time.
TEST(Traffic, ARegionHasItsPartOfTheTime) {
  std::vector<SiteDemand> sites(3);
  sites[0].demand.of(Manner::scattered_load) = 100;
  sites[0].by_region.push_back({0, {}});
  sites[0].by_region[0].demand.of(Manner::streamed_load) =
      0.5 * 100 * access_time(Manner::scattered_load, k_fast, 1) /
      access_time(Manner::streamed_load, k_fast, 1);
  count_traffic(sites, summary_of_loop(), k_fast);
  EXPECT_NEAR(sites[0].by_region[0].demand.total() / sites[0].demand.total(), 0.5, 1e-9);
}

TEST(Traffic, RegionsTogetherHaveNoMoreThanTheWhole) {
  std::vector<SiteDemand> sites(3);
  sites[0].demand.of(Manner::scattered_load) = 100;
  for (std::uint32_t region = 0; region < 2; ++region) {
    sites[0].by_region.push_back({region, {}});
    sites[0].by_region[region].demand.of(Manner::scattered_load) = 300;
  }
  ProfileSummary summary = summary_of_loop();
  summary.regions.resize(2);
  count_traffic(sites, summary, k_fast);
  ASSERT_GT(sites[0].demand.total(), 0);
  for (const RegionDemand& region : sites[0].by_region)
    EXPECT_NEAR(region.demand.total() / sites[0].demand.total(), 0.5, 1e-9);
}

TEST(Traffic, LoadsThatNeedNoOtherWaitAtOnce) {
  ProfileSummary summary = summary_of_loop();
  summary.traffic[0].sites.resize(1);
  summary.traffic[0].sites[0].lines = {};
  summary.traffic[0].sites[0].lines.chased_load = 1;
  std::vector<SiteDemand> chased(3), gathered(3);
  count_traffic(chased, summary, k_fast);
  EXPECT_DOUBLE_EQ(chased[0].demand.at_once, 1);
  summary.traffic[0].sites[0].lines = {};
  summary.traffic[0].sites[0].lines.gathered_load = 1;
  count_traffic(gathered, summary, k_fast);
  EXPECT_DOUBLE_EQ(gathered[0].demand.at_once, k_gathered_at_once);
  const auto time_of = [](double wait) { // of one: a line takes 0.64 ns
    return std::cbrt(wait * wait * wait + 0.64 * 0.64 * 0.64);
  };
  EXPECT_NEAR(chased[0].demand.total(), 1 / time_of(80), 1e-9);
  EXPECT_NEAR(gathered[0].demand.total(), 1 / time_of(80 / k_gathered_at_once), 1e-9);
}

} // namespace
} // namespace omptier
