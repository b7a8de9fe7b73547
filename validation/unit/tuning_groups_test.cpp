// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From an advice to the groups that are tuned, and from a trial of them back to a plan.
#include "tuning/advised_groups.hpp"

#include "advisor_fast_and_slow.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace omptier {
namespace {

struct MadeUpAdvice {
  ProfileSummary summary;
  Advice advice;
};

// Sites of 40 MiB with these shares, each with a call stack of its own.
MadeUpAdvice advice_for(const std::vector<double>& shares, std::uint64_t dram) {
  MadeUpAdvice made;
  made.summary.modules = {{"build-id:1", "app", "app", 0, false}};
  Workload workload;
  workload.rest = 5e8;
  for (const double share : shares) {
    SiteDemand& site = workload.sites.emplace_back();
    site.site = workload.sites.size() - 1;
    site.label = std::string(1, static_cast<char>('a' + site.site));
    site.live = {{0, 100, 40 * MiB}};
    site.demand.of(Manner::scattered_load) = 1e8 * share;
    site.share = site.share_low = site.share_high = share;
    SiteSummary& from = made.summary.sites.emplace_back();
    from.frames = {{0, 0x100 + site.site}};
  }
  made.advice = advise(std::move(workload), tiers(dram));
  return made;
}

PortableFrame no_names(const Frame&) {
  return {};
}

MemoryKind kind_in(const Plan& plan, const std::string& label) {
  const auto at = std::ranges::find(plan.entries, label, &PlanEntry::label);
  return at == plan.entries.end() ? MemoryKind::unknown : at->kinds.front();
}

TEST(TunedGroups, AreTheOnesOfLargestEffect) {
  const MadeUpAdvice made = advice_for({0.1, 0.5, 0.3}, 100 * MiB);
  const AdvisedGroups groups(made.advice, made.summary, 2);
  const TuningProblem problem = groups.problem();
  ASSERT_EQ(problem.groups.size(), 2u);
  EXPECT_EQ(groups.left_out(), 1u);
  EXPECT_EQ(problem.groups[0].label, "b");
  EXPECT_EQ(problem.groups[1].label, "c");
  EXPECT_EQ(problem.groups[0].advised, 0u);
  EXPECT_EQ(problem.kinds, (std::vector<std::string>{"DRAM", "NVM"}));
  EXPECT_GT(problem.predicted(problem.all_slow()), problem.predicted(problem.advised()));
}

TEST(TunedGroups, ATrialIsAPlan) {
  const MadeUpAdvice made = advice_for({0.1, 0.5, 0.3}, 100 * MiB);
  const AdvisedGroups groups(made.advice, made.summary, 8);
  const TuningProblem problem = groups.problem(); // b, c, a
  Trial trial = problem.advised();
  const Plan advised = groups.plan(trial, no_names);
  EXPECT_EQ(write_plan(advised), write_plan(plan_from(made.advice, made.summary, no_names)));
  EXPECT_EQ(kind_in(advised, "b"), MemoryKind::dram);
  trial.kinds[0] = 1;
  const Plan changed = groups.plan(
      trial, no_names, [](std::size_t group) { return group == 0 ? "measured: slower" : ""; });
  EXPECT_EQ(kind_in(changed, "b"), MemoryKind::nvm);
  EXPECT_EQ(kind_in(changed, "c"), kind_in(advised, "c"));
  const auto of = [&](const char* label) {
    return *std::ranges::find(changed.entries, label, &PlanEntry::label);
  };
  EXPECT_EQ(of("b").reason, "measured: slower");
  EXPECT_NE(of("c").reason, "measured: slower");
  const Plan slow = groups.plan(problem.all_slow(), no_names);
  for (const PlanEntry& entry : slow.entries)
    EXPECT_EQ(entry.kinds.front(), MemoryKind::nvm) << entry.label;
}

TEST(TunedGroups, RoomIsThatOfTheKinds) {
  const MadeUpAdvice made = advice_for({0.1, 0.5, 0.3}, 80 * MiB);
  const AdvisedGroups groups(made.advice, made.summary, 8);
  const TuningProblem problem = groups.problem();
  Trial trial = problem.advised();
  EXPECT_TRUE(problem.has_room(trial));
  EXPECT_TRUE(problem.has_room(problem.all_slow()));
  trial.kinds = {0, 0, 0};
  EXPECT_FALSE(problem.has_room(trial));
}

// The runtime knows sites by their call stacks only: two of one stack go together.
TEST(TunedGroups, SitesOfOneStackAreOne) {
  MadeUpAdvice made = advice_for({0.1, 0.5, 0.3}, 200 * MiB);
  made.summary.sites[2].frames = made.summary.sites[1].frames;
  const AdvisedGroups groups(made.advice, made.summary, 8);
  EXPECT_EQ(groups.problem().groups.size(), 2u);
}

TEST(TunedGroups, WhatTheUserKeepsIsNone) {
  MadeUpAdvice made = advice_for({0.1, 0.5, 0.3}, 200 * MiB);
  made.advice.workload.sites[1].kept = 0;
  const AdvisedGroups groups(made.advice, made.summary, 8);
  EXPECT_EQ(groups.problem().groups.size(), 2u);
  EXPECT_TRUE(std::ranges::none_of(groups.problem().groups,
                                   [](const TuningGroup& group) { return group.label == "b"; }));
}

} // namespace
} // namespace omptier
