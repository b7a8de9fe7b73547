// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines of blocks from every n-th of their misses, n varying as the sources vary it.
#include "analysis/miss_steps.hpp"

#include <gtest/gtest.h>

#include <random>

namespace omptier {
namespace {

constexpr std::uint64_t k_walked = (std::uint64_t{1} << 40) + 64 * 7;

// One in about 50 misses of a walk by so many bytes, by so many threads in parts of their own.
MissSteps walked(std::uint64_t step, unsigned samples, std::uint32_t threads = 1) {
  MissSteps steps;
  std::minstd_rand random(1);
  std::uniform_int_distribution<std::uint64_t> left_out(25, 75);
  std::uint64_t miss = 0;
  for (unsigned i = 0; i < samples; ++i, miss += left_out(random))
    for (std::uint32_t thread = 0; thread < threads; ++thread)
      steps.add(3, thread, false, k_walked + (thread << 30) + 64 * thread + miss * step);
  return steps;
}

TEST(MissSteps, OfWalks) {
  EXPECT_EQ(walked(64, 1000).of(3).loads, 4);
  EXPECT_EQ(walked(128, 1000).of(3).loads, 2);
  EXPECT_EQ(walked(192, 1000).of(3).loads, 4.0 / 3);
  EXPECT_EQ(walked(256, 1000).of(3).loads, 1);
  EXPECT_EQ(walked(1024, 1000).of(3).loads, 1);
  EXPECT_EQ(walked(256, 1000, 4).of(3).loads, 1); // each thread's own
}

// Of every four lines the first two are asked for, by each thread from a place of its own.
TEST(MissSteps, PartsOfBlocks) {
  MissSteps steps;
  std::minstd_rand random(1);
  std::uniform_int_distribution<std::uint64_t> left_out(25, 75);
  std::uint64_t miss = 0;
  for (unsigned i = 0; i < 1000; ++i, miss += left_out(random))
    for (std::uint32_t thread = 0; thread < 4; ++thread)
      steps.add(0, thread, true, k_walked + 64 * (thread + miss / 2 * 4 + miss % 2));
  EXPECT_EQ(steps.of(0).stores, 2);
  EXPECT_EQ(steps.of(0).loads, 4);
}

// Few misses may leave out a place by chance; their distances tell all the same.
TEST(MissSteps, FewMissesTellNoPlaces) {
  MissSteps pairs;
  for (std::uint64_t i = 0; i < 100; ++i)
    pairs.add(0, 0, false, k_walked + 64 * (i / 2 * 4 + i % 2));
  EXPECT_EQ(pairs.of(0).loads, 4);
  EXPECT_EQ(walked(256, 100).of(3).loads, 1);
}

TEST(MissSteps, OtherSitesAndFewSamplesSayNothing) {
  EXPECT_EQ(walked(256, 1000).of(2).loads, 4);
  EXPECT_EQ(walked(256, 1000).of(4).loads, 4);
  EXPECT_EQ(walked(256, 20).of(3).loads, 4);
}

// Of every four lines one is stored to.
TEST(MissSteps, LoadsAndStoresAreStreamsOfTheirOwn) {
  MissSteps steps;
  for (std::uint64_t i = 0; i < 1000; i += 1 + i % 7)
    steps.add(0, 0, i % 4 == 0, k_walked + i * 64);
  EXPECT_EQ(steps.of(0).loads, 4); // of all of a block
  EXPECT_EQ(steps.of(0).stores, 1);
}

TEST(MissSteps, OneInFiveOffTheStepIsAllowed) {
  MissSteps often, seldom;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    seldom.add(0, 0, false, k_walked + i * 256 + i / 6 * 64);
    often.add(0, 0, false, k_walked + i * 256 + i / 4 * 64);
  }
  EXPECT_EQ(seldom.of(0).loads, 1);
  EXPECT_EQ(often.of(0).loads, 4);
}

} // namespace
} // namespace omptier
