// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What pictures show: the run in equal steps of time, and objects in order of their share per byte.
#include "analysis/densest.hpp"
#include "analysis/over_time.hpp"
#include "analysis_summary.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace omptier {
namespace {

constexpr std::uint64_t k_step = 1000; // nanoseconds
constexpr std::uint64_t k_run = k_step * k_time_steps;

SiteSummary site_with(std::uint64_t bytes, double share, std::vector<LiveStep> live = {}) {
  SiteSummary site;
  site.bytes_peak = bytes;
  site.share = {share, share, share};
  site.live = std::move(live);
  return site;
}

// A peak inside of a step is not lost, and sites are seen at the same moment.
TEST(OverTime, LiveBytesAreThoseOfTheFullestMoment) {
  ProfileSummary summary;
  summary.nanoseconds = k_run;
  summary.sites = {site_with(100, 0, {{0, 100}, {10 * k_step + 500, 0}}),
                   site_with(70, 0, {{10 * k_step + 200, 70}, {10 * k_step + 300, 30}}),
                   site_with(80, 0, {{10 * k_step + 600, 80}, {20 * k_step, 0}})};
  const LiveOverTime live = live_over_time(summary);
  EXPECT_EQ(live.all[9], 100u);
  EXPECT_EQ(live.all[10], 170u);
  EXPECT_EQ(live.all[11], 110u);
  EXPECT_EQ(live.all[19], 110u);
  EXPECT_EQ(live.all[21], 30u);
  EXPECT_EQ(live.all[k_time_steps - 1], 30u);
  EXPECT_EQ(live.most.bytes, 170u);
  EXPECT_EQ(live.most.time, 10 * k_step + 200);
  ASSERT_EQ(live.sites.size(), 3u);
  EXPECT_EQ(live.sites[0].site, 0u); // the highest peak first
  EXPECT_EQ(live.sites[1].site, 2u);
  for (std::size_t step = 0; step < k_time_steps; ++step) {
    std::uint64_t sum = 0;
    for (const LiveOverTime::OfSite& of : live.sites)
      sum += of.bytes[step];
    EXPECT_EQ(sum, live.all[step]) << step;
  }
}

TEST(OverTime, PartsOfStepsAddUpToTheTimeThatRegionsRan) {
  ProfileSummary summary;
  summary.nanoseconds = k_run;
  summary.regions.resize(3);
  summary.phases.resize(1);
  summary.visits = {{2, 500, 2250}, {1, 3000, 3001}, {2, k_run - 100, k_run}};
  summary.phase_visits = {{0, 0, k_run}};
  const std::vector<RanOverTime> regions = regions_over_time(summary);
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].of, 1u); // in the order of their numbers
  EXPECT_NEAR(regions[0].parts[3], 0.001, 1e-9);
  EXPECT_NEAR(regions[1].parts[0], 0.5, 1e-9);
  EXPECT_NEAR(regions[1].parts[1], 1, 1e-9);
  EXPECT_NEAR(regions[1].parts[2], 0.25, 1e-9);
  EXPECT_NEAR(regions[1].parts[k_time_steps - 1], 0.1, 1e-9);
  const std::vector<RanOverTime> phases = phases_over_time(summary);
  ASSERT_EQ(phases.size(), 1u);
  for (const double part : phases[0].parts)
    EXPECT_NEAR(part, 1, 1e-9);
}

TEST(OverTime, OnlySoManyRegionsAreKept) {
  ProfileSummary summary;
  summary.nanoseconds = k_run;
  summary.regions.resize(1000);
  for (std::uint32_t region = 1; region < 1000; ++region)
    summary.visits.push_back({region, region, region + region});
  const std::vector<RanOverTime> regions = regions_over_time(summary);
  ASSERT_EQ(regions.size(), k_ran_most);
  EXPECT_EQ(regions.back().of, 999u);
  EXPECT_EQ(regions.front().of, 1000u - k_ran_most);
}

// Two arrays: the first at its begin in the first half of the run, the second all over it later.
TEST(OverTime, AccessesHaveTheirTimeAndPlace) {
  Profile profile = profile_of_arrays(2);
  profile.last_time = k_run;
  for (std::uint64_t step = 0; step < k_time_steps; ++step) {
    const std::uint32_t array = step < k_time_steps / 2 ? 0 : 1;
    LoggedSample sample;
    sample.time = step * k_step + 1;
    sample.weight = 1;
    sample.address = address_of_array(array) + (array == 0 ? 64 : (step % 32) << 21);
    profile.samples.push_back(sample);
  }
  const ProfileSummary summary = summary_of(profile);
  const AccessesOverTime& accesses = summary.accesses_over_time;
  EXPECT_EQ(accesses.nanoseconds, k_run);
  ASSERT_EQ(accesses.sites.size(), 2u);
  for (const AccessesOverTime::OfSite& of : accesses.sites) {
    const bool first = summary.sites[of.site].frames[0].offset == 0;
    double sum = 0;
    for (std::size_t step = 0; step < k_time_steps; ++step) {
      const bool runs = (step < k_time_steps / 2) == first;
      EXPECT_NEAR(of.shares[step], runs ? 1.0 / k_time_steps : 0, 1e-9);
      const auto& ranges = of.ranges[step];
      EXPECT_NEAR(std::accumulate(ranges.begin(), ranges.end(), 0.0), of.shares[step], 1e-9);
      EXPECT_EQ(ranges[first ? 0 : step % 32] > 0, runs);
      sum += of.shares[step];
    }
    EXPECT_NEAR(sum, summary.sites[of.site].share.value, 1e-9);
  }
}

// Of several profiles one run is drawn, the first with samples: what lived in others is not mixed
// in.
TEST(OverTime, OneRunOfSeveralIsDrawn) {
  Profile empty = profile_of_arrays(1), sampled = profile_of_arrays(2);
  empty.last_time = 2 * k_run;
  sampled.last_time = k_run;
  LoggedSample sample;
  sample.time = 1;
  sample.weight = 1;
  sample.address = address_of_array(1);
  sampled.samples.push_back(sample);
  const Profile profiles[] = {empty, sampled};
  const Parsed<ProfileSummary> summary = summarize(profiles);
  ASSERT_TRUE(summary) << summary.error();
  EXPECT_EQ(summary->drawn, 1u);
  EXPECT_EQ(drawn_nanoseconds(*summary), k_run);
  const ProfileSummary alone = summary_of(sampled);
  const LiveOverTime live = live_over_time(*summary), expected = live_over_time(alone);
  EXPECT_GT(expected.most.bytes, 0u);
  EXPECT_EQ(live.most.bytes, expected.most.bytes);
  EXPECT_EQ(live.all, expected.all);
}

TEST(Densest, HottestBytesComeFirstAndAllAreCounted) {
  ProfileSummary summary;
  summary.sites = {site_with(1000, 0.5), site_with(10, 0.2), site_with(500, 0), site_with(0, 0.1)};
  SiteSummary stacks = site_with(100, 0.2);
  stacks.kind = SiteKind::stacks;
  summary.sites.push_back(stacks);
  const std::vector<DensestStep> steps = densest_first(summary);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].site, 1u);
  EXPECT_EQ(steps[1].site, 0u);
  EXPECT_EQ(steps[1].bytes, 1010u);
  EXPECT_NEAR(steps[1].share.value, 0.7, 1e-12);
  EXPECT_EQ(steps[2].sites, 3u);
  EXPECT_EQ(steps[2].bytes, 1510u);
}

TEST(Densest, StepsAreFewHoweverManySites) {
  ProfileSummary summary;
  for (int i = 0; i < 60000; ++i)
    summary.sites.push_back(site_with(4096 + i % 7, i < 3000 ? 1.0 / 3000 : 0));
  const std::vector<DensestStep> steps = densest_first(summary);
  EXPECT_LE(steps.size(), 402u);
  EXPECT_GE(steps.size(), 200u);
  EXPECT_EQ(steps.back().sites, 60000u);
  EXPECT_NEAR(steps.back().share.value, 1, 1e-9);
  for (std::size_t i = 1; i < steps.size(); ++i)
    EXPECT_GT(steps[i].sites, steps[i - 1].sites);
}

} // namespace
} // namespace omptier
