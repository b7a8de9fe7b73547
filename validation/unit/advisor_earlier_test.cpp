// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Advice after a plan that is in use: kept unless other advice is clearly faster.
#include "advisor/advice.hpp"
#include "advisor/evidence.hpp"
#include "advisor/kept.hpp"
#include "advisor_fast_and_slow.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace omptier {
namespace {

using Tiers = std::vector<std::size_t>;

// Arrays of 32 MiB, which main() allocates by a function of its own, with so many loads.
ProfileSummary arrays(const std::vector<double>& loads) {
  ProfileSummary summary;
  summary.measure = Measure::misses;
  summary.nanoseconds = 1000;
  summary.modules = {{"build-id:2", "libm.so", "/libm.so", 0, false},
                     {"build-id:1", "app", "/app", 0, false}};
  summary.regions.emplace_back();
  double all = 0;
  for (const double of_one : loads)
    all += of_one;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    SiteSummary& site = summary.sites.emplace_back();
    site.frames = {{1, 0x20}, {1, 0x100 * (i + 1)}};
    site.objects = site.blocks = 1;
    site.bytes_total = site.bytes_peak = site.bytes_largest = 32 * MiB;
    site.live = {{0, 32 * MiB}};
    site.samples = 1000;
    site.accesses.scattered_load = loads[i];
    site.share = {loads[i] / all, 0.9 * loads[i] / all, loads[i] / all};
  }
  return summary;
}

Workload workload_of(const ProfileSummary& summary) {
  Terms whole;
  whole.parts = false;
  const std::vector<std::string> names(summary.sites.size(), "field (app.c:34)");
  return workload_from(summary, {names, {"outside"}}, k_fast, whole);
}

Plan plan_of(const ProfileSummary& summary, std::uint64_t dram) {
  return plan_from(advise(workload_of(summary), tiers(dram)), summary,
                   [](const Frame&) { return PortableFrame(); });
}

Advice advice_after(const Plan& plan, const ProfileSummary& summary, std::uint64_t dram,
                    double worth_changing = k_worth_changing) {
  EarlierPlacement earlier = placed_by(plan, workload_of(summary), summary, tiers(dram));
  earlier.worth_changing = worth_changing;
  EXPECT_TRUE(earlier.names_any());
  return advise(workload_of(summary), tiers(dram), &earlier);
}

TEST(AfterAPlan, ItIsKeptUnlessOtherAdviceIsFaster) {
  const Plan plan = plan_of(arrays({1000, 900, 10}), 32 * MiB);
  const Advice same = advice_after(plan, arrays({1000, 1010, 10}), 32 * MiB);
  EXPECT_EQ(same.placement.tier_of_site, (Tiers{0, 1, 1}));
  ASSERT_TRUE(same.change);
  EXPECT_TRUE(same.change->is_none);
  // 10 · (300 − 80) of 1020 · 300 + 1000 · 80
  EXPECT_NEAR(same.change->saves, 2200.0 / 386000, 1e-4);
  const Advice other = advice_after(plan, arrays({1000, 1200, 10}), 32 * MiB);
  EXPECT_EQ(other.placement.tier_of_site, (Tiers{1, 0, 1}));
  EXPECT_FALSE(other.change->is_none);
  EXPECT_GT(other.change->saves, k_worth_changing);
  EXPECT_FALSE(advise(workload_of(arrays({1})), tiers(32 * MiB)).change);
}

TEST(AfterAPlan, HowMuchFasterTheCallerSays) {
  const Plan plan = plan_of(arrays({1000, 900, 10}), 32 * MiB);
  const ProfileSummary newer = arrays({1000, 1200, 10});
  const double saves = advice_after(plan, newer, 32 * MiB).change->saves;
  EXPECT_FALSE(advice_after(plan, newer, 32 * MiB, 0.99 * saves).change->is_none);
  const Advice kept = advice_after(plan, newer, 32 * MiB, 1.01 * saves);
  EXPECT_TRUE(kept.change->is_none);
  EXPECT_EQ(kept.placement.tier_of_site, (Tiers{0, 1, 1}));
}

TEST(AfterAPlan, WhatItDoesNotNameIsPlacedAroundIt) {
  const Plan plan = plan_of(arrays({1000, 3}), 32 * MiB);
  const Advice more = advice_after(plan, arrays({1000, 3, 1}), 64 * MiB);
  EXPECT_EQ(more.placement.tier_of_site, (Tiers{0, 1, 0}));
  EXPECT_TRUE(more.change->is_none);
}

TEST(AfterAPlan, WhatHasNoRoomAnyMoreIsPlacedAnew) {
  const Plan plan = plan_of(arrays({1000, 990}), 64 * MiB);
  const Advice less = advice_after(plan, arrays({1000, 990}), 40 * MiB);
  EXPECT_EQ(less.placement.tier_of_site, (Tiers{0, 1}));
  EXPECT_NEAR(less.change->saves, 0, 1e-9);
}

TEST(AfterAPlan, OfAnEntrysKindsTheFirstThatIsThereCounts) {
  const ProfileSummary summary = arrays({1000, 990});
  Plan plan = plan_of(summary, 32 * MiB);
  ASSERT_EQ(plan.entries.size(), 2u);
  plan.entries[0].kinds = {MemoryKind::hbm, MemoryKind::nvm, MemoryKind::dram};
  plan.entries[1].kinds = {MemoryKind::hbm};
  const EarlierPlacement earlier = placed_by(plan, workload_of(summary), summary, tiers(32 * MiB));
  std::vector<std::optional<std::size_t>> found = earlier.tier_of_site;
  std::ranges::sort(found);
  EXPECT_EQ(found, (std::vector<std::optional<std::size_t>>{std::nullopt, 1}));
}

TEST(AfterAPlan, WhatTheUserKeepsStays) {
  const ProfileSummary summary = arrays({1000, 1010});
  const Plan plan = plan_of(summary, 32 * MiB);
  Workload workload = workload_of(summary);
  workload.sites[0].kept = 0;
  const EarlierPlacement earlier = placed_by(plan, workload, summary, tiers(32 * MiB));
  const Advice advice = advise(workload, tiers(32 * MiB), &earlier);
  EXPECT_EQ(advice.placement.tier_of_site, (Tiers{0, 1}));
  EXPECT_EQ(advice.workload.sites[0].kept, 0u);
  EXPECT_FALSE(advice.workload.sites[1].kept);
}

// As the runtime does: the entry with most frames of the stack's inner end, by the modules'
// identities.
TEST(AfterAPlan, SitesAreFoundByTheInnerEndOfTheirStacks) {
  const ProfileSummary summary = arrays({1000, 1000});
  Plan plan = plan_of(summary, 32 * MiB);
  ASSERT_EQ(plan.entries.size(), 2u);
  for (PlanEntry& entry : plan.entries)
    entry.kinds = {MemoryKind::nvm};
  plan.entries[1].frames.pop_back(); // now of both
  plan.entries[1].kinds = {MemoryKind::dram};
  const auto placed = [&] {
    return placed_by(plan, workload_of(summary), summary, tiers(64 * MiB)).tier_of_site;
  };
  const std::size_t named = plan.entries[0].frames[1].offset / 0x100 - 1;
  EXPECT_EQ(placed()[named], 1u);
  EXPECT_EQ(placed()[1 - named], 0u);
  plan.modules[1].identity = "build-id:3";
  EXPECT_FALSE(placed_by(plan, workload_of(summary), summary, tiers(64 * MiB)).names_any());
}

TEST(AfterAPlan, StaticsAreFoundByTheirNames) {
  ProfileSummary summary = arrays({1000, 1000});
  for (SiteSummary& site : summary.sites) {
    site.kind = SiteKind::variable;
    site.frames = {{1, 0}};
    site.symbol = &site == summary.sites.data() ? "grid" : "table";
  }
  const Plan plan = plan_of(summary, 32 * MiB);
  const EarlierPlacement earlier = placed_by(plan, workload_of(summary), summary, tiers(32 * MiB));
  for (std::size_t site = 0; site < 2; ++site) {
    const auto entry =
        std::ranges::find(plan.entries, summary.sites[site].symbol, &PlanEntry::symbol);
    ASSERT_NE(entry, plan.entries.end());
    EXPECT_EQ(earlier.tier_of_site[site], entry->kinds[0] == MemoryKind::dram ? 0u : 1u);
  }
}

} // namespace
} // namespace omptier
