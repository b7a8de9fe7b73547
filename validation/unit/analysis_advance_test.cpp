// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop's pace from how far its streams advance (analysis/loop_advance.hpp): threads that are
// sampled every millisecond, every fourth sample emulated.
#include "analysis/loop_advance.hpp"

#include <gtest/gtest.h>

using namespace omptier;

namespace {

constexpr std::uint64_t k_followed = 0x1000, k_stream_at = 0x7f0000000000;
constexpr double k_a_millisecond = 1e6;
constexpr double k_loops_pace =
    24; // bytes: an iteration a nanosecond reads 8 of the stream, 16 beside

struct SampledThreads {
  Profile profile;
  std::vector<RegionRun> runs;
  std::vector<ObjectOfSite> objects;

  // iteration: how far the loop is. weight: nanoseconds.
  void sample(std::uint32_t thread, double time, std::uint64_t run, double iteration,
              std::uint64_t loop = k_followed, double weight = k_a_millisecond) {
    LoggedSample sample;
    sample.time = 1 + static_cast<std::uint64_t>(time);
    sample.thread = thread;
    sample.pc = loop + 4;
    sample.weight = static_cast<float>(weight);
    sample.first_pattern = static_cast<std::uint32_t>(profile.patterns.size());
    if (count_++ % 8 < 2) { // of two threads or loops, both
      const std::uint64_t at = k_stream_at + 8 * static_cast<std::uint64_t>(iteration);
      if (is_stream_shown) pattern(sample, loop, 0, at, step, weight / 3);
      pattern(sample, loop, 1, at * 7919 % (1 << 30), 0, weight * (is_stream_shown ? 2.0 / 3 : 1));
    }
    profile.samples.push_back(sample);
    runs.push_back({run, region});
  }
  AdvanceRates rates() const { return advance_rates(profile, runs, objects); }
  double pace(std::uint64_t loop = k_followed, std::uint32_t of_region = 0) const {
    const AdvanceRates known = rates();
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (profile.samples[i].pc == loop + 4 && runs[i].region == of_region)
        if (const auto rate = known.rates.find({known.nests[i], 0}); rate != known.rates.end())
          return rate->second.value;
    return 0;
  }

  std::int64_t step = 8;
  std::uint64_t object = 0; // of the stream
  std::uint32_t region = 0;
  bool is_stream_shown = true;

private:
  void pattern(LoggedSample& sample, std::uint64_t loop, std::uint32_t site, std::uint64_t address,
               std::int64_t bytes, double time) {
    LoggedPattern pattern;
    pattern.time = sample.time;
    pattern.pc = loop + 8 * (1 + site);
    pattern.address = address;
    pattern.thread = sample.thread;
    pattern.kind = AccessKind::load;
    pattern.loop = loop;
    pattern.bytes = static_cast<float>(time);
    pattern.accesses = static_cast<float>(time / 8);
    pattern.strides[0] = {bytes, bytes != 0 ? 1.0F : 0.1F};
    profile.patterns.push_back(pattern);
    objects.push_back({site == 0 ? object : 77, site});
    ++sample.patterns;
  }

  std::size_t count_ = 0;
};

// Threads have a half each, in runs of so many samples.
SampledThreads threads_in_halves(unsigned samples_of_run) {
  SampledThreads made;
  for (unsigned i = 0; i < 400; ++i)
    for (std::uint32_t thread = 0; thread < 2; ++thread)
      made.sample(thread, i * k_a_millisecond, i / samples_of_run,
                  (i % samples_of_run + thread * samples_of_run) * k_a_millisecond);
  return made;
}

TEST(LoopAdvance, StreamsOfThreadsTellThePace) {
  const SampledThreads made = threads_in_halves(40);
  const AdvanceRates rates = made.rates();
  ASSERT_EQ(rates.rates.size(), 1u) << "what has no regular step tells nothing";
  const LoopRate& rate = rates.rates.begin()->second;
  EXPECT_NEAR(rate.value, k_loops_pace, 0.02 * k_loops_pace);
  EXPECT_LT(rate.relative_error, 0.15);
  EXPECT_EQ(rate.pairs, 180u); // of 200 emulated samples, the first of ten runs and two threads
}

TEST(LoopAdvance, DownwardsIsForward) {
  SampledThreads made;
  made.step = -8;
  for (unsigned i = 0; i < 400; ++i)
    made.sample(0, i * k_a_millisecond, 0, (400 - i) * k_a_millisecond);
  EXPECT_NEAR(made.pace(), k_loops_pace, 0.02 * k_loops_pace);
}

TEST(LoopAdvance, RunsOfOneEmulatedSampleTellNothing) {
  EXPECT_EQ(threads_in_halves(4).pace(), 0);
}

// Together twice as fast as each.
TEST(LoopAdvance, ThreadsInTurnTellNothing) {
  SampledThreads made;
  for (unsigned i = 0; i < 400; ++i)
    for (std::uint32_t thread = 0; thread < 2; ++thread)
      made.sample(thread, i * k_a_millisecond, i / 40, (i % 40 * 2 + thread) * k_a_millisecond);
  EXPECT_EQ(made.pace(), 0);
}

TEST(LoopAdvance, StreamThatBeginsAnewInARunIsNotPaired) {
  SampledThreads made;
  for (unsigned i = 0; i < 800; ++i)
    made.sample(0, i * k_a_millisecond, 0, i % 24 * k_a_millisecond);
  EXPECT_NEAR(made.pace(), k_loops_pace, 0.02 * k_loops_pace);
}

TEST(LoopAdvance, SweepsShorterThanGapsTellNothing) {
  SampledThreads made;
  for (unsigned i = 0; i < 800; ++i)
    made.sample(0, i * k_a_millisecond, 0, i * (i + 3) * 7919 % 1000 * 1e3);
  EXPECT_EQ(made.pace(), 0);
}

// Rows by two loops in turn, which samples hit at random: each has half of the time.
TEST(LoopAdvance, OtherLoopsTimeDoesNotCount) {
  SampledThreads made;
  unsigned random = 1;
  for (unsigned i = 0; i < 3200; ++i) {
    random = random * 1103515245 + 12345;
    made.sample(0, i * k_a_millisecond, i / 80, i % 80 * k_a_millisecond / 2,
                (random >> 20) % 2 == 0 ? k_followed : k_followed + 0x100);
  }
  EXPECT_NEAR(made.pace(), k_loops_pace, 0.1 * k_loops_pace);
  EXPECT_NEAR(made.pace(k_followed + 0x100), k_loops_pace, 0.1 * k_loops_pace);
}

// Rows of sixteen are left after eight: some windows see the jump.
TEST(LoopAdvance, JumpsCountAsOftenAsTheyAreSeen) {
  SampledThreads made;
  for (unsigned i = 0; i < 1600; ++i) {
    made.step = i / 8 % 2 == 0 ? 8 : 24;
    made.sample(0, i * k_a_millisecond, i / 80, i % 80 * 2 * k_a_millisecond);
  }
  EXPECT_NEAR(made.pace(), k_loops_pace, 0.1 * k_loops_pace);
}

TEST(LoopAdvance, JumpsThatAreSeldomSeenTellNothing) {
  SampledThreads made;
  for (unsigned i = 0; i < 1600; ++i) {
    made.step = i % 400 == 0 ? 8000 : 8;
    made.sample(0, i * k_a_millisecond, i / 80, i % 80 * 2 * k_a_millisecond);
  }
  EXPECT_EQ(made.pace(), 0);
}

// Of each two windows one is in a part of the iteration that has no stream.
TEST(LoopAdvance, WindowsShorterThanIterationsCountTogether) {
  SampledThreads made;
  for (unsigned i = 0; i < 1600; ++i) {
    made.is_stream_shown = i / 8 % 2 == 0;
    made.sample(0, i * k_a_millisecond, i / 80, i % 80 * k_a_millisecond);
  }
  EXPECT_NEAR(made.pace(), 2 * k_loops_pace, 0.2 * k_loops_pace);
}

// Nine tenths of the time are another loop's, which calls the same function.
TEST(LoopAdvance, StreamsThatHaveATimeOfTheirOwnTellNothing) {
  SampledThreads made;
  for (unsigned i = 0; i < 1600; ++i) {
    made.is_stream_shown = i < 160;
    made.sample(0, i * k_a_millisecond, 0, i * k_a_millisecond);
  }
  EXPECT_EQ(made.pace(), 0);
}

// a[i]++
TEST(LoopAdvance, LoadAndStoreOfOneInstructionAreTwoStreams) {
  SampledThreads made = threads_in_halves(40);
  std::vector<LoggedPattern> both;
  std::vector<ObjectOfSite> objects;
  for (LoggedSample& sample : made.profile.samples) {
    const std::size_t first = sample.first_pattern;
    sample.first_pattern = static_cast<std::uint32_t>(both.size());
    for (std::size_t i = first; i < first + sample.patterns; ++i) {
      both.push_back(made.profile.patterns[i]);
      objects.push_back(made.objects[i]);
    }
    if (sample.patterns == 0) continue;
    both.push_back(made.profile.patterns[first]);
    both.back().kind = AccessKind::store;
    objects.push_back(made.objects[first]);
    ++sample.patterns;
  }
  made.profile.patterns = both;
  made.objects = objects;
  EXPECT_NEAR(made.pace(), k_loops_pace + 8, 0.02 * k_loops_pace);
}

// A function's loop, which one region calls three times as often as the other.
TEST(LoopAdvance, FunctionsHaveAPaceInEachRegion) {
  SampledThreads made;
  for (unsigned i = 0; i < 1600; ++i) {
    made.region = i / 80 % 2;
    made.sample(0, i * k_a_millisecond, i / 80, i % 80 * (1 + 2 * made.region) * k_a_millisecond);
  }
  EXPECT_NEAR(made.pace(k_followed, 0), k_loops_pace, 0.05 * k_loops_pace);
  EXPECT_NEAR(made.pace(k_followed, 1), 3 * k_loops_pace, 0.15 * k_loops_pace);
}

TEST(LoopAdvance, FromOneObjectToAnotherIsNoAdvance) {
  SampledThreads made;
  for (unsigned i = 0; i < 800; ++i) {
    made.object = i / 8;
    made.sample(0, i * k_a_millisecond, 0, (i + 20.0 * (i / 8)) * k_a_millisecond);
  }
  EXPECT_NEAR(made.pace(), k_loops_pace, 0.02 * k_loops_pace);
}

// Waiting for other threads, in the middle of each run, is neither sampled nor the kernel's.
TEST(LoopAdvance, WaitingDoesNotCount) {
  SampledThreads made;
  for (unsigned i = 0; i < 800; ++i)
    made.sample(0, (i + i / 40 * 40 + (i % 40 < 20 ? 0 : 30)) * k_a_millisecond, i / 40,
                i % 40 * k_a_millisecond);
  EXPECT_NEAR(made.pace(), k_loops_pace, 0.05 * k_loops_pace);
}

TEST(LoopAdvance, WeightsBeyondReasonEndNothing) {
  SampledThreads made;
  for (unsigned i = 0; i < 400; ++i)
    made.sample(0, i * k_a_millisecond, 0, i * k_a_millisecond, k_followed, i == 9 ? 1e30 : 1e6);
  made.pace();
}

// Half of the time is the kernel's, which is not sampled.
TEST(LoopAdvance, KernelsTimeDoesNotCount) {
  SampledThreads made;
  for (unsigned i = 0; i < 400; ++i)
    made.sample(0, 2 * i * k_a_millisecond, i / 40, i % 40 * k_a_millisecond);
  EXPECT_NEAR(made.pace(), k_loops_pace, 0.02 * k_loops_pace);
}

TEST(LoopAdvance, NothingIsKnownOfNoSamples) {
  EXPECT_TRUE(SampledThreads().rates().rates.empty());
}

} // namespace
