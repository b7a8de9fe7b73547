// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What changed between two profiles: made-up summaries whose truth is known.
#include "analysis/compare.hpp"
#include "analysis/share_intervals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace omptier {
namespace {

FigureChange of_values(double a, double a_half, double b, double b_half) {
  return change_from({a, a - a_half, a + a_half}, {b, b - b_half, b + b_half});
}

std::vector<bool> sure_of(std::vector<FigureChange> changes) {
  std::vector<FigureChange*> all;
  for (FigureChange& change : changes)
    all.push_back(&change);
  find_sure(all);
  std::vector<bool> sure;
  for (const FigureChange& change : changes)
    sure.push_back(change.is_sure);
  return sure;
}

TEST(Compare, IntervalsAreSquaredAndAdded) {
  const FigureChange change = change_from({10, 8, 13}, {20, 18, 21});
  EXPECT_DOUBLE_EQ(change.difference.value, 10);
  EXPECT_DOUBLE_EQ(change.difference.low, 10 - std::hypot(2, 3));
  EXPECT_DOUBLE_EQ(change.difference.high, 10 + std::hypot(1, 2));
}

TEST(Compare, OnlyWhatIsBeyondTheNoiseIsSure) {
  EXPECT_EQ(sure_of({of_values(10, 3, 12, 0)}), std::vector<bool>{false});
  EXPECT_EQ(sure_of({of_values(10, 3, 14, 0)}), std::vector<bool>{true});
  EXPECT_EQ(sure_of({of_values(14, 0, 10, 3)}), std::vector<bool>{true});
  EXPECT_EQ(sure_of({of_values(10, 3, 14, 3)}), std::vector<bool>{false});
  EXPECT_TRUE(sure_of({}).empty());
}

// Counts of every access have no noise.
TEST(Compare, OfCountsAnyDifferenceIsSure) {
  EXPECT_EQ(sure_of({of_values(1e9, 0, 1e9 + 2, 0)}), std::vector<bool>{true});
  EXPECT_EQ(sure_of({of_values(1e9, 0, 1e9, 0)}), std::vector<bool>{false});
  EXPECT_EQ(sure_of({of_values(0, 0, 0, 0)}), std::vector<bool>{false});
}

// 2.2 deviations: a chance of 2.8 %, too much where three are compared; 2.5: 1.2 %.
TEST(Compare, TheMoreAreComparedTheMoreIsAskedOfEach) {
  const FigureChange little = of_values(0, k_deviations, 2.2, 0),
                     more = of_values(0, k_deviations, 2.5, 0);
  const FigureChange none = of_values(5, 1, 5, 1);
  EXPECT_EQ(sure_of({little}), std::vector<bool>{true});
  EXPECT_EQ(sure_of({none, little, none}), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(sure_of({none, more, none}), (std::vector<bool>{false, true, false}));
  // The one found is no longer counted with the rest.
  EXPECT_EQ(sure_of({more, little}), (std::vector<bool>{true, true}));
}

// Sites with so many of the samples.
ProfileSummary summary_of_counts(const std::vector<std::uint64_t>& counts,
                                 double nanoseconds = 1e7) {
  ProfileSummary summary;
  summary.runs.emplace_back().source = "perf";
  summary.measure = Measure::time;
  for (const std::uint64_t count : counts)
    summary.samples += count;
  for (const std::uint64_t count : counts) {
    SiteSummary& site = summary.sites.emplace_back();
    site.samples = count;
    site.bytes_peak = 100'000;
    site.accesses.scattered_load = static_cast<double>(count) * nanoseconds;
    const double share = static_cast<double>(count) / static_cast<double>(summary.samples);
    const Interval interval = wilson_interval(share, static_cast<double>(summary.samples));
    site.share = {share, interval.low, interval.high};
  }
  return summary;
}

std::vector<ComparedPair> each_with_itself(std::size_t count) {
  std::vector<ComparedPair> pairs;
  for (std::uint32_t i = 0; i < count; ++i)
    pairs.push_back({i, i});
  return pairs;
}

std::vector<std::uint64_t> sampled(const std::vector<double>& shares, unsigned samples,
                                   std::mt19937& random) {
  std::discrete_distribution<std::size_t> pick(shares.begin(), shares.end());
  std::vector<std::uint64_t> counts(shares.size());
  for (unsigned i = 0; i < samples; ++i)
    ++counts[pick(random)];
  return counts;
}

// Of 300 pairs of profiles of one program with 30 objects each, at most one in twenty may show any
// change; twice that is allowed here. A change by half is seen all the same.
TEST(Compare, ProfilesOfTheSameRunShowNoChanges) {
  std::mt19937 random(7);
  std::vector<double> shares, changed;
  for (unsigned i = 0; i < 30; ++i)
    shares.push_back(1.0 / (1 + i));
  changed = shares;
  changed[0] *= 0.5;
  constexpr unsigned k_trials = 300, k_samples = 1000;
  unsigned wrong = 0, found = 0;
  const auto pairs = each_with_itself(shares.size());
  for (unsigned trial = 0; trial < k_trials; ++trial) {
    const ProfileSummary a = summary_of_counts(sampled(shares, k_samples, random));
    const ProfileSummary same = summary_of_counts(sampled(shares, k_samples, random));
    const ProfileSummary other = summary_of_counts(sampled(changed, k_samples, random));
    const auto is_sure = [](const ObjectChange& object) { return object.cost.is_sure; };
    wrong += std::ranges::any_of(compare(a, same, pairs, {}).objects, is_sure) ? 1 : 0;
    const ProfileChanges changes = compare(a, other, pairs, {});
    found += std::ranges::any_of(changes.objects, [](const ObjectChange& object) {
      return object.a == 0u && object.cost.is_sure;
    });
  }
  EXPECT_LE(wrong, k_trials / 10);
  EXPECT_GE(found, k_trials * 9 / 10);
}

TEST(Compare, CostsAreTimesAndNotShares) {
  // The second object takes as long as before, but the first less: its share grows.
  const ProfileSummary a = summary_of_counts({6000, 4000}), b = summary_of_counts({2000, 4000});
  const ProfileChanges changes = compare(a, b, each_with_itself(2), {});
  EXPECT_EQ(changes.objects[0].a, 0u);
  EXPECT_TRUE(changes.objects[0].cost.is_sure);
  EXPECT_NEAR(changes.objects[0].cost.difference.value, -4000e7, 1);
  EXPECT_FALSE(changes.objects[1].cost.is_sure);
  EXPECT_TRUE(changes.objects[1].share.is_sure);
  EXPECT_NEAR(changes.objects[1].share.b.value, 2.0 / 3, 1e-9);
}

TEST(Compare, BlocksComeAndGoByRecordStaticsBySamples) {
  ProfileSummary a = summary_of_counts({500, 3}), b = summary_of_counts({500, 400});
  a.sites[1].kind = SiteKind::variable;
  const std::vector<ComparedPair> pairs = {{0, 0}, {1, {}}, {{}, 1}};
  const ProfileChanges changes = compare(a, b, pairs, {});
  const auto at = [&](auto is_it) { return *std::ranges::find_if(changes.objects, is_it); };
  const ObjectChange fresh = at([](const ObjectChange& one) { return !one.a; });
  EXPECT_TRUE(fresh.is_new && fresh.cost.is_sure && fresh.bytes_b == 100'000);
  EXPECT_DOUBLE_EQ(fresh.cost.a.high, 0);
  // Three samples before, none now: that may be chance.
  const ObjectChange few = at([](const ObjectChange& one) { return !one.b; });
  EXPECT_FALSE(few.is_gone || few.is_sure());
  EXPECT_GT(few.cost.b.high, 0);
}

TEST(Compare, SizesAreFacts) {
  const ProfileSummary a = summary_of_counts({100, 100});
  ProfileSummary b = a;
  b.sites[0].bytes_peak = 100'500; // half a percent
  b.sites[1].bytes_peak = 150'000;
  const ProfileChanges changes = compare(a, b, each_with_itself(2), {});
  EXPECT_EQ(changes.objects[0].a, 1u);
  EXPECT_TRUE(changes.objects[0].changes_size() && changes.objects[0].is_sure());
  EXPECT_FALSE(changes.objects[1].is_sure());
  // Of blocks under 4 KiB, only some are looked at.
  b.sites[0].bytes_peak = b.sites[1].bytes_peak = 0;
  EXPECT_FALSE(compare(a, b, each_with_itself(2), {}).objects[0].is_sure());
}

TEST(Compare, AccessesCountWhereBothKnowThePace) {
  ProfileSummary a = summary_of_counts({100, 100});
  a.nanoseconds = 2'000'000'000;
  for (SiteSummary& site : a.sites)
    site.access_rate = {1e9, 0.9e9, 1.1e9, 8e9, 1, 50};
  ProfileSummary b = a;
  b.sites[0].access_rate = {3e9, 2.9e9, 3.1e9, 24e9, 1, 50};
  b.sites[1].access_rate.known = 0.5;
  const ProfileChanges changes = compare(a, b, each_with_itself(2), {});
  ASSERT_EQ(changes.objects[0].a, 0u);
  ASSERT_TRUE(changes.objects[0].accesses);
  EXPECT_TRUE(changes.objects[0].accesses->is_sure);
  EXPECT_DOUBLE_EQ(changes.objects[0].accesses->b.value, 6e9);
  EXPECT_FALSE(changes.objects[1].accesses);
}

// Visits of two regions, of 10 ms each give or take 1 ms.
ProfileSummary summary_of_visits(std::uint64_t visits, std::uint64_t mean_of_first) {
  constexpr std::uint64_t k_ms = 1'000'000;
  ProfileSummary summary;
  summary.runs.emplace_back();
  summary.regions.resize(2);
  std::uint64_t time = 0;
  for (std::uint64_t i = 0; i < 2 * visits; ++i) {
    const auto region = static_cast<std::uint32_t>(i % 2);
    const std::uint64_t mean = region == 0 ? mean_of_first : 10;
    const std::uint64_t length = (mean + i / 2 % 3 - 1) * k_ms;
    summary.visits.push_back({region, time, time + length});
    summary.regions[region].nanoseconds += length;
    ++summary.regions[region].entries;
    time += length;
  }
  return summary;
}

TEST(Compare, TheSpreadOfVisitsIsTheNoiseOfRegions) {
  const ProfileSummary a = summary_of_visits(30, 10), b = summary_of_visits(30, 9);
  const ProfileChanges changes = compare(a, b, {}, each_with_itself(2));
  EXPECT_EQ(changes.regions[0].a, 0u);
  EXPECT_TRUE(changes.regions[0].knows_noise && changes.regions[0].time.is_sure);
  EXPECT_DOUBLE_EQ(changes.regions[0].time.difference.value, -30e6);
  EXPECT_FALSE(changes.regions[1].time.is_sure);
  const ProfileChanges few = compare(summary_of_visits(5, 10), b, {}, each_with_itself(2));
  EXPECT_FALSE(few.regions[0].knows_noise || few.regions[0].time.is_sure);
}

} // namespace
} // namespace omptier
