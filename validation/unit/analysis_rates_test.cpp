// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rates of loops from pairs of samples, of runs that are longer or shorter than the gaps between
// them, and rates and shares of accesses from a log.
#include "analysis_summary.hpp"
#include "log_build.hpp"

#include "analysis/loop_rates.hpp"
#include "base/os.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <optional>
#include <random>

namespace {

using namespace omptier;

// Pairs with gaps up to `longest` at random places of runs of `run` nanoseconds that follow one
// another; `speed` bytes a nanosecond, `noise` of it more or less.
LoopRuns pairs_of(unsigned count, double longest, double run, double speed, double noise = 0.05,
                  unsigned seed = 1) {
  LoopRuns runs;
  std::minstd_rand random(seed);
  const auto draw = [&](double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(random);
  };
  for (unsigned i = 0; i < count; ++i) {
    const double begin = draw(0, run), time = draw(1e5, longest);
    const double moved = std::fmod(begin + time, run) - begin;
    runs.add(time, moved < 0 ? -1 : moved * speed * draw(1 - noise, 1 + noise));
  }
  return runs;
}

TEST(LoopRates, RunsLongerThanGaps) {
  for (const double run : {1e9, 4e7, 2e7}) {
    const auto rate = pairs_of(60, 2e7, run, 3).rate();
    ASSERT_TRUE(rate) << run;
    EXPECT_NEAR(rate->value, 3, 0.1) << run;
    EXPECT_GE(rate->pairs, 10u);
    EXPECT_LT(rate->relative_error, 0.1);
  }
}

TEST(LoopRates, ShorterRunsTakeShortGaps) {
  for (const double run : {1e7, 5e6, 3e6})
    for (unsigned seed = 1; seed <= 50; ++seed) {
      const auto rate = pairs_of(400, 2e7, run, 3, 0.05, seed).rate();
      ASSERT_TRUE(rate) << run << " " << seed;
      EXPECT_NEAR(rate->value, 3, 0.15) << run << " " << seed;
    }
}

// A rate of short runs is a chance of one in hundreds at most.
TEST(LoopRates, RunsShorterThanAnyGapHaveNone) {
  for (const double run : {1e3, 2.5e4, 1e5})
    for (const unsigned pairs : {20u, 100u, 1000u}) {
      unsigned wrong = 0;
      for (unsigned seed = 1; seed <= 200; ++seed)
        wrong += pairs_of(pairs, 2e7, run, 3, 0.05, seed).rate() ? 1 : 0;
      EXPECT_LE(wrong, 2u) << run << " " << pairs;
    }
}

// Samples stand for a fifth of the gaps between them: the kernel has the rest.
TEST(LoopRates, TheKernelsTimeIsNotTheLoops) {
  const LoopRuns runs = pairs_of(60, 2e7, 1e9, 3);
  const double gap = (1e5 + 2e7) / 2;
  for (const double sample : {gap, 2 * gap, 0.0}) {
    const auto rate = runs.rate(sample);
    ASSERT_TRUE(rate);
    EXPECT_NEAR(rate->value, 3, 0.1) << sample;
  }
  const auto rate = runs.rate(gap / 5);
  ASSERT_TRUE(rate);
  EXPECT_NEAR(rate->value, 15, 15 * rate->relative_error);
  EXPECT_LT(rate->relative_error, 0.25);
  EXPECT_TRUE(pairs_of(400, 2e7, 1e7, 3).rate(gap));
  EXPECT_FALSE(pairs_of(400, 2e7, 1e7, 3).rate(gap / 5)); // in the loop, or between its runs?
}

// Samples of two clocks as perf's, 1 a millisecond together, in runs of so many of them (of user
// code), of which the kernel has a part; between runs it has 12 ms. Every eighth is looked at.
LoopRuns short_runs(unsigned count, double samples, double kernels, double speed, unsigned seed) {
  constexpr double k_first_clock = 1.7236, k_second_clock = 2.382, k_between = 12;
  std::minstd_rand random(seed);
  std::uniform_real_distribution<double> any;
  LoopRuns runs;
  const double run = samples / (1 - kernels);
  double first = any(random) * k_first_clock, second = any(random) * k_second_clock, last = -1;
  for (double begin = 0; count > 0; begin += run + k_between) {
    while (std::min(first, second) < begin + run) {
      double& next = first < second ? first : second;
      const double now = next;
      next += first < second ? k_first_clock : k_second_clock;
      if (now < begin || any(random) < kernels) continue; // in the kernel
      const double gap = now - last;
      const bool same = last >= begin;
      last = now;
      if (any(random) > 1.0 / 8) continue;
      if (gap < 0.1)
        runs.add_alone();
      else
        runs.add(gap * 1e6, same ? gap * 1e6 * (1 - kernels) * speed : -1);
      --count;
      if (count == 0) return runs;
    }
  }
  return runs;
}

TEST(LoopRates, TheKernelsTimeBetweenShortRunsIsNotTheirs) {
  unsigned found = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const auto rate = short_runs(60, 2.4, 0, 3, seed).rate(1e6);
    if (!rate) continue;
    ++found;
    EXPECT_NEAR(rate->value, 3, 0.1) << seed;
    EXPECT_LT(rate->relative_error, 0.35) << seed;
  }
  EXPECT_GE(found, 80u);
  // Where it has half of their time, that is seen, or nothing is said.
  unsigned wrong = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const auto rate = short_runs(100, 2.4, 0.5, 3, seed).rate(1e6);
    wrong += rate && std::abs(rate->value - 3) > 3 * rate->relative_error;
  }
  EXPECT_LE(wrong, 2u);
}

TEST(LoopRates, FewPairsTellNothing) {
  EXPECT_FALSE(LoopRuns().rate());
  EXPECT_FALSE(pairs_of(4, 2e7, 1e9, 3).rate());
  LoopRuns nothing;
  for (int i = 0; i < 10; ++i)
    nothing.add(1e6, 0);
  EXPECT_FALSE(nothing.rate());
}

TEST(LoopRates, DifferingPairsWidenTheInterval) {
  const auto rate = pairs_of(30, 2e7, 1e9, 3, 0.3).rate();
  ASSERT_TRUE(rate);
  EXPECT_NEAR(rate->value, 3, 0.3);
  EXPECT_GT(rate->relative_error, 0.05);
  EXPECT_LT(rate->relative_error, 0.3);
  const auto wild = pairs_of(60, 2e7, 1e9, 3, 0.9).rate(); // a busy machine
  ASSERT_TRUE(wild);
  EXPECT_NEAR(wild->value, 3, 3 * wild->relative_error);
}

// Two loops over two arrays, sampled for equal times; the first accesses ten times as much. Or one
// loop: for the second array pairs that have another pace, none (0) or are of different runs (−1).
struct TwoLoops {
  static constexpr std::uint64_t k_array = 1 << 20, k_first = 0x10000000, k_second = 0x20000000;
  ScratchFile file;

  TwoLoops(bool with_pairs, bool second_too, std::optional<float> one_loop = {}) {
    LogWriter log;
    EXPECT_TRUE(open_log(log, file));
    RunRecord run = some_run();
    run.measure = Measure::time;
    run.start_time = monotonic_nanoseconds();
    log.run(run);
    log.module(0, {"id", "app", "/app", 0, false});
    for (std::uint32_t site = 0; site < 2; ++site) {
      const Frame frame{0, 0x100 + site};
      log.site(site, &frame, 1);
    }
    log.object(0, k_first, k_array, 1, 0);
    log.object(1, k_second, k_array, 1, 0);
    constexpr std::uint64_t k_samples = 100, k_weight = 10'000'000; // ns: a second in each loop
    for (std::uint64_t i = 0; i < 2 * k_samples; ++i) {
      const bool first = i < k_samples;
      AccessPattern pattern;
      pattern.time = run.start_time + (i + 100) * k_weight;
      pattern.pc = first ? 0x1010 : 0x2010;
      pattern.address = (first ? k_first : k_second) + 64 * i;
      pattern.kind = AccessKind::load;
      pattern.bytes = k_weight;
      pattern.accesses = k_weight / 8;
      pattern.loop = first || one_loop ? 0x1000 : 0x2000;
      if (with_pairs && (first || second_too)) {
        pattern.run_nanoseconds = 1e5f * static_cast<float>(1 + i % 50);
        pattern.run_bytes = pattern.run_nanoseconds * (first ? 8.0f : 0.8f);
      }
      if (!first && one_loop == 0.0f) pattern.run_nanoseconds = 0;
      if (!first && one_loop == -1.0f) pattern.run_bytes = -1;
      log.sample(sample_at(pattern.time, pattern.address));
      log.pattern(pattern, {}, {});
    }
    log.end();
    log.close();
  }
  ProfileSummary summary() const { return summary_of(read_back(file.path())); }
};

TEST(AccessRates, CountAccessesAndWeighLoops) {
  const ProfileSummary summary = TwoLoops(true, true).summary();
  EXPECT_NEAR(summary.paced, 1, 1e-9);
  const SiteSummary &first = site_at(summary, 0x100), &second = site_at(summary, 0x101);
  EXPECT_NEAR(first.access_share.value, 10.0 / 11, 1e-3);
  EXPECT_NEAR(second.access_share.value, 1.0 / 11, 1e-3);
  const double seconds = summary.mean_nanoseconds * 1e-9;
  EXPECT_NEAR(first.access_rate.value * seconds, 1e9, 1e7); // a second, 8 bytes a nanosecond
  EXPECT_NEAR(second.access_rate.value * seconds, 1e8, 1e6);
  EXPECT_NEAR(first.access_rate.bytes * seconds, 8e9, 8e7);
  for (const SiteSummary* site : {&first, &second}) {
    EXPECT_LT(site->access_rate.low, site->access_rate.value);
    EXPECT_GT(site->access_rate.high, site->access_rate.value);
    EXPECT_EQ(site->access_rate.known, 1);
    EXPECT_GE(site->access_rate.pairs, 50u);
  }
}

// The share is that of what the loop's accesses let expect, and the interval says that it may be
// another: by time it would be a half. Its scattered accesses may hit a cache, too.
TEST(AccessRates, ALoopWithoutPaceCountsByWhatItAccesses) {
  const ProfileSummary summary = TwoLoops(true, false).summary();
  EXPECT_NEAR(summary.paced, 0.5, 1e-9);
  const SiteSummary& first = site_at(summary, 0x100);
  EXPECT_GT(first.access_share.value, 0.6);
  EXPECT_GT(first.access_share.high, 0.88);
  EXPECT_LT(first.access_share.low, 0.3);
  EXPECT_GT(first.access_share.low, 0.25);
  EXPECT_GT(first.access_rate.value, 0);
  EXPECT_EQ(site_at(summary, 0x101).access_rate.value, 0);
  EXPECT_EQ(site_at(summary, 0x101).access_rate.pairs, 0u);
}

// One loop, half of its samples in each array; of those in the second one no two lie in one run, or
// none make pairs: the first array's pace is not theirs.
TEST(AccessRates, AnArrayWithShortRunsHasNoPaceOfOthers) {
  for (const float pace : {-1.0f, 0.0f}) {
    const ProfileSummary summary = TwoLoops(true, true, pace).summary();
    EXPECT_NEAR(summary.paced, 0.5, 1e-9);
    EXPECT_GT(site_at(summary, 0x100).access_rate.value, 0);
    EXPECT_EQ(site_at(summary, 0x101).access_rate.value, 0);
  }
}

TEST(AccessRates, NothingWithoutPairs) {
  const ProfileSummary summary = TwoLoops(false, false).summary();
  EXPECT_EQ(summary.paced, 0);
  EXPECT_NEAR(site_at(summary, 0x101).access_share.value, 0.5, 1e-3); // loops that are alike
  EXPECT_LT(site_at(summary, 0x101).access_share.low, 0.35);
  EXPECT_GT(site_at(summary, 0x101).access_share.high, 0.65);
}

} // namespace
