// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of streams from every n-th of their misses, n varying as the sources vary it.
#include "analysis/miss_steps.hpp"

#include <gtest/gtest.h>

#include <random>

namespace omptier {
namespace {

constexpr std::uint64_t k_array = (std::uint64_t{1} << 40) + 64 * 7;

// One in about 50 misses of a walk by so many bytes, by so many threads in parts of their own.
MissSteps walked(std::uint64_t step, unsigned samples, std::uint32_t threads = 1) {
  MissSteps steps;
  std::minstd_rand random(1);
  std::uniform_int_distribution<std::uint64_t> left_out(25, 75);
  std::uint64_t miss = 0;
  for (unsigned i = 0; i < samples; ++i, miss += left_out(random))
    for (std::uint32_t thread = 0; thread < threads; ++thread)
      steps.add(3, thread, false, k_array + (thread << 30) + 64 * thread + miss * step);
  return steps;
}

TEST(MissSteps, OfWalks) {
  EXPECT_EQ(walked(64, 1000).of(3).loads, 1u);
  EXPECT_EQ(walked(128, 1000).of(3).loads, 2u);
  EXPECT_EQ(walked(192, 1000).of(3).loads, 3u);
  EXPECT_EQ(walked(256, 1000).of(3).loads, 4u);
  EXPECT_EQ(walked(1024, 1000).of(3).loads, 16u);
  EXPECT_EQ(walked(256, 1000, 4).of(3).loads, 4u); // each thread's own
}

TEST(MissSteps, OtherSitesAndFewSamplesSayNothing) {
  EXPECT_EQ(walked(256, 1000).of(2).loads, 1u);
  EXPECT_EQ(walked(256, 1000).of(4).loads, 1u);
  EXPECT_EQ(walked(256, 20).of(3).loads, 1u);
}

// Of every four lines one is stored to.
TEST(MissSteps, LoadsAndStoresAreStreamsOfTheirOwn) {
  MissSteps steps;
  for (std::uint64_t i = 0; i < 1000; i += 1 + i % 7)
    steps.add(0, 0, i % 4 == 0, k_array + i * 64);
  EXPECT_EQ(steps.of(0).loads, 1u);
  EXPECT_EQ(steps.of(0).stores, 4u);
}

TEST(MissSteps, OneInFiveOffTheStepIsAllowed) {
  MissSteps often, seldom;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    seldom.add(0, 0, false, k_array + i * 256 + i / 6 * 64);
    often.add(0, 0, false, k_array + i * 256 + i / 4 * 64);
  }
  EXPECT_EQ(seldom.of(0).loads, 4u);
  EXPECT_EQ(often.of(0).loads, 1u);
}

} // namespace
} // namespace omptier
