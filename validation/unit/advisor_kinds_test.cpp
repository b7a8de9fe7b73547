// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From rows of all kinds to a plan: statics by their symbol, allocations as the runtime sees their
// call stack, nothing for what no plan reaches.
#include "advisor/advice.hpp"
#include "advisor/evidence.hpp"
#include "advisor/explain.hpp"
#include "advisor/traits_source.hpp"
#include "advisor_fast_and_slow.hpp"
#include "analysis/access_shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>

namespace omptier {
namespace {

SiteSummary row(SiteKind kind, std::vector<Frame> frames, const char* symbol, double weight) {
  SiteSummary site;
  site.kind = kind;
  site.frames = std::move(frames);
  site.symbol = symbol;
  site.objects = 1;
  site.bytes_total = site.bytes_peak = site.bytes_largest = MiB;
  site.live = {{0, MiB}};
  site.accesses.scattered_load = weight;
  site.share = {weight / 100, weight / 100, weight / 100};
  site.write_share = {0, 0, 0};
  return site;
}

TEST(PlanOfKinds, ReachesStaticsAndAllocationsOnly) {
  ProfileSummary summary;
  summary.measure = Measure::misses;
  summary.nanoseconds = 1000;
  summary.modules = {{"build-id:1", "app", "/app", 0, false},
                     {"build-id:2", "libnumeric.so", "/usr/lib/libnumeric.so", 0, true}};
  summary.regions.emplace_back();
  summary.sites = {row(SiteKind::variable, {{0, 0x4000}}, "grid", 40),
                   row(SiteKind::stacks, {}, "", 20),
                   row(SiteKind::allocation, {{1, 0x10}, {0, 0x20}}, "", 15),
                   row(SiteKind::allocation, {{1, 0x30}, {0, 0x20}}, "", 10),
                   row(SiteKind::mapping, {{0, 0x40}}, "", 10),
                   row(SiteKind::statics, {{0, 0}}, "", 5)};
  const EvidenceNames names{{"grid", "stacks", "one", "other", "arena", "statics"}, {"outside"}};
  const Figures fast{80, 80, 100e9, 100e9}, slow{300, 900, 30e9, 10e9};
  const Advice advice =
      advise(workload_from(summary, names, fast),
             {{MemoryKind::dram, 64 * MiB, fast}, {MemoryKind::nvm, 64 * MiB, slow}});
  const Plan plan = plan_from(advice, summary, [](const Frame&) { return PortableFrame(); });
  ASSERT_EQ(plan.entries.size(), 2u);
  EXPECT_EQ(plan.entries[0].symbol, "grid");
  EXPECT_TRUE(plan.entries[0].frames.empty());
  // Two calls of the library under one of the program: the runtime sees the program's alone.
  ASSERT_EQ(plan.entries[1].frames.size(), 1u);
  EXPECT_EQ(plan.entries[1].frames[0].module, 0u);
  EXPECT_EQ(plan.entries[1].frames[0].offset, 0x20u);
  EXPECT_EQ(plan.entries[1].bytes, 2 * MiB);
  EXPECT_TRUE(parse_plan(write_plan(plan), "plan"));
}

// They are hotter than all the rest, and of many sites; fast memory holds half of the rest and two
// of them.
TEST(PlanOfKinds, FewSmallBlocksOfMallocTakeWhatOthersLeave) {
  const Figures fast{80, 80, 100e9, 100e9}, slow{300, 900, 30e9, 10e9};
  const std::uint64_t small = MiB / 32;
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    ProfileSummary summary;
    summary.modules = {{"build-id:1", "app", "/app", 0, false}};
    const auto add = [&](std::uint64_t bytes, std::uint64_t weight) {
      SiteSummary& site = summary.sites.emplace_back(
          row(SiteKind::allocation, {{0, summary.sites.size()}}, "", static_cast<double>(weight)));
      site.by_malloc = true;
      site.bytes_largest = site.bytes_peak = bytes;
      site.live = {{0, bytes}};
    };
    const auto advice_now = [&] {
      const EvidenceNames names{std::vector<std::string>(summary.sites.size()), {}};
      return advise(workload_from(summary, names, fast),
                    {{MemoryKind::dram, 500 * MiB + 2 * small, fast},
                     {MemoryKind::nvm, 5000 * MiB, slow}});
    };
    const auto entries_of = [&](const Advice& advice) {
      return plan_from(advice, summary, [](const Frame&) { return PortableFrame(); }).entries.size();
    };
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t mib = 20 + random() % 60;
      add(mib * MiB, mib * 10 + random() % 100);
    }
    const Advice before = advice_now();
    const auto& tiers = before.placement.tier_of_site;
    const std::size_t entries = entries_of(before);
    for (int i = 0; i < 10; ++i)
      add(small, 1000);
    const Advice after = advice_now();
    const auto& more_tiers = after.placement.tier_of_site;
    EXPECT_TRUE(std::ranges::equal(tiers, std::span(more_tiers).first(tiers.size()))) << round;
    EXPECT_EQ(entries_of(after), entries) << round;
    EXPECT_GE(std::ranges::count(std::span(more_tiers).subspan(tiers.size()), 0u), 2) << round;
    for (std::size_t site = tiers.size(); site < more_tiers.size(); ++site)
      EXPECT_EQ(tier_in_source(after, site), 0u) << round; // its traits name the fast one
  }
}

// Samples of time do not tell streams from scattered accesses; patterns do, and decide who gains.
TEST(PlanOfKinds, PatternsDecideWhoGainsByBandwidth) {
  ProfileSummary summary;
  summary.measure = Measure::time;
  summary.nanoseconds = 1000;
  summary.threads = 64;
  summary.modules = {{"build-id:1", "app", "/app", 0, false}};
  summary.regions.emplace_back();
  for (const auto& [kind, stride] : {std::pair<PatternKind, int>{PatternKind::sequential, 0},
                                     {PatternKind::strided, 128},
                                     {PatternKind::strided, 65536},
                                     {PatternKind::random, 0}}) {
    SiteSummary& site = summary.sites.emplace_back(
        row(SiteKind::allocation, {{0, 0x10 * (summary.sites.size() + 1)}}, "", 25));
    site.pattern.kind = kind;
    site.pattern.stride = stride;
  }
  const EvidenceNames names{{"a", "b", "c", "d"}, {"outside"}};
  const Figures dram{110, 110, 250e9, 220e9}, hbm{140, 140, 700e9, 500e9};
  const std::vector<TierChoice> tiers = {{MemoryKind::hbm, 64 * MiB, hbm},
                                         {MemoryKind::dram, 64 * MiB, dram}};
  const std::vector<std::size_t> in_hbm_and_dram = {0, 0, 1, 1};
  const ProfileSummary blamed = summary;
  set_manners(summary, std::vector<std::vector<SiteInLoop>>(summary.sites.size() + 1));
  EXPECT_EQ(advise(workload_from(summary, names, dram), tiers).placement.tier_of_site,
            in_hbm_and_dram);
  summary = blamed;
  summary.measure = Measure::misses; // there each sample says it itself
  EXPECT_EQ(advise(workload_from(summary, names, dram), tiers).placement.tier_of_site,
            (std::vector<std::size_t>{1, 1, 1, 1}));
}

// Room for one of two arrays, the first with most of the time.
class Cached : public testing::Test {
protected:
  Cached() {
    summary.measure = Measure::time;
    summary.nanoseconds = 1000;
    summary.modules = {{"build-id:1", "app", "/app", 0, false}};
    summary.regions.emplace_back();
    summary.sites = {row(SiteKind::allocation, {{0, 0x10}}, "", 80),
                     row(SiteKind::allocation, {{0, 0x20}}, "", 20)};
    for (SiteSummary& site : summary.sites)
      site.samples = static_cast<std::uint64_t>(10 * site.accesses.total());
  }
  Advice advice() const {
    const Figures fast{80, 80, 100e9, 100e9}, slow{300, 900, 30e9, 10e9};
    return advise(workload_from(summary, {{"hot", "other"}, {"outside"}}, fast),
                  {{MemoryKind::dram, room, fast}, {MemoryKind::nvm, 64 * MiB, slow}});
  }
  // Of the hot array's time.
  void serve(double from_cache, double from_memory) {
    AccessWeights& accesses = summary.sites[0].accesses;
    accesses.from_cache = from_cache * accesses.total();
    accesses.from_memory = from_memory * accesses.total();
  }
  std::vector<std::size_t> tiers() const { return advice().placement.tier_of_site; }

  std::uint64_t room = MiB;
  ProfileSummary summary;
  const std::vector<std::size_t> hot_wins{0, 1}, other_wins{1, 0};
};

TEST_F(Cached, AnArrayInTheCacheLeavesTheRoomToOthers) {
  EXPECT_EQ(tiers(), hot_wins);
  serve(1, 0);
  EXPECT_EQ(tiers(), other_wins);
  room = 2 * MiB; // for both: what nobody else wants it may have
  EXPECT_EQ(tiers(), (std::vector<std::size_t>{0, 0}));
}

TEST_F(Cached, PartsCountByWhatIsLeftAndTheUnknownIsMemory) {
  serve(0.7, 0.3); // 80 * 0.3 is more than 20
  EXPECT_EQ(tiers(), hot_wins);
  serve(0.8, 0.2);
  EXPECT_EQ(tiers(), other_wins);
  serve(0.7, 0); // of 0.3 nothing is known
  EXPECT_EQ(tiers(), hot_wins);
  serve(0, 0.1);
  const double demand = advice().workload.sites[0].demand.total();
  serve(0, 0);
  EXPECT_EQ(advice().workload.sites[0].demand.total(), demand);
  EXPECT_EQ(advice().workload.sites[0].cached_high, 0); // nothing known, nothing said
}

TEST_F(Cached, RegionsHaveTheirOwn) {
  summary.regions.emplace_back();
  for (const std::uint32_t region : {0u, 1u}) {
    SitePart part;
    part.of = region;
    part.samples = 400;
    part.accesses.scattered_load = 40;
    part.accesses.from_cache = region == 0 ? 0 : 30;
    summary.sites[0].by_region.push_back(part);
  }
  const Workload workload = workload_from(summary, {{"hot", "other"}, {"outside", "sweep"}}, {});
  const auto& parts = workload.sites[0].by_region;
  EXPECT_DOUBLE_EQ(parts[1].demand.total(), 0.25 * parts[0].demand.total());
}

// Where nothing was watched, caches serve as they do in the whole run; all regions together never
// wait longer than the whole site.
TEST_F(Cached, ARegionIsPartOfItsSite) {
  serve(0.9, 0.1);
  summary.regions.emplace_back();
  SitePart& first = summary.sites[0].by_region.emplace_back();
  first.samples = summary.sites[0].samples / 2;
  first.accesses = summary.sites[0].accesses;
  first.accesses *= 0.5;
  first.accesses.from_cache = first.accesses.from_memory = 0;
  const std::vector<std::string> names(summary.sites.size(), "hot");
  const auto sites = [&] {
    return workload_from(summary, {names, {"outside", "sweep"}}, {}).sites;
  };
  EXPECT_NEAR(sites()[0].by_region[0].demand.total(), 0.5 * sites()[0].demand.total(), 1e-9);

  SitePart& second = summary.sites[0].by_region.emplace_back(summary.sites[0].by_region[0]);
  second.of = 1;
  second.accesses.from_memory = second.accesses.total(); // one watch found memory
  const SiteDemand hot = sites()[0];
  EXPECT_NEAR(hot.by_region[0].demand.total() + hot.by_region[1].demand.total(), hot.demand.total(),
              1e-9);
  EXPECT_GT(hot.by_region[1].demand.total(), hot.by_region[0].demand.total());
}

TEST_F(Cached, TheReasonSaysSo) {
  serve(0.9, 0.05);
  const Advice made = advice();
  const SiteDemand& hot = made.workload.sites[0];
  EXPECT_DOUBLE_EQ(hot.cached, 0.9);
  EXPECT_LT(hot.cached_low, 0.9);
  EXPECT_GT(hot.cached_high, 0.95); // 5 % are not known
  std::string why_not;
  EXPECT_TRUE(is_consistent(made.workload, why_not)) << why_not;
  const std::string reason = reason_for(made.workload, made.tiers, made.costs, 0,
                                        made.placement.tier_of_site[0], all_peaks(made.workload));
  EXPECT_NE(reason.find("90.0 % ("), std::string::npos) << reason;
  EXPECT_NE(reason.find(" of that from a cache, which no placement makes faster, the rest mostly "
                        "scattered loads"),
            std::string::npos)
      << reason;
  const std::size_t faster = made.costs[0][0] < made.costs[0][1] ? 0 : 1;
  const std::string gain =
      reason_for(made.workload, made.tiers, made.costs, 0, faster, all_peaks(made.workload));
  const std::size_t saves = gain.find(" saves ");
  ASSERT_NE(saves, std::string::npos) << gain;
  EXPECT_GT(std::stod(gain.substr(saves + 7)), 0) << gain;
  EXPECT_LE(std::stod(gain.substr(saves + 7)), 10) << gain; // of its time, not of the rest's
  serve(1, 0);
  const Advice all = advice();
  const std::string left =
      reason_for(all.workload, all.tiers, all.costs, 0, 1, all_peaks(all.workload));
  EXPECT_TRUE(left.ends_with(" of that from a cache, which no placement makes faster")) << left;
  EXPECT_NE(traits_as_c(made.workload.sites[0], MemoryKind::dram, "hot").find("importance, 80}"),
            std::string::npos);
}

} // namespace
} // namespace omptier
