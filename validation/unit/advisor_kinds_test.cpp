// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From rows of all kinds to a plan: statics by their symbol, allocations as the runtime sees their
// call stack, nothing for what no plan reaches.
#include "advisor/advise.hpp"
#include "advisor/evidence.hpp"

#include <gtest/gtest.h>

namespace omptier {
namespace {

constexpr std::uint64_t MiB = 1 << 20;

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
  EXPECT_EQ(advise(workload_from(summary, names, dram), tiers).placement.tier_of_site,
            in_hbm_and_dram);
  summary.measure = Measure::misses; // there each sample says it itself
  EXPECT_EQ(advise(workload_from(summary, names, dram), tiers).placement.tier_of_site,
            (std::vector<std::size_t>{1, 1, 1, 1}));
}

} // namespace
} // namespace omptier
