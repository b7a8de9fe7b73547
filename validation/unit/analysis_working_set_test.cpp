// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which part of an object is in use, by the offsets of a few samples.
#include "analysis/working_set.hpp"

#include <gtest/gtest.h>
#include <random>

using namespace omptier;

namespace {

constexpr std::uint64_t k_bytes = 1 << 20;

TEST(WorkingSet, NothingWithoutSamples) {
  const OffsetHistogram offsets;
  EXPECT_TRUE(offsets.empty());
  EXPECT_TRUE(offsets.hot_ranges().empty());
}

TEST(WorkingSet, OneSampleSaysNothingOfWhere) {
  OffsetHistogram offsets;
  offsets.add(k_bytes / 2, k_bytes, 1);
  const auto ranges = offsets.hot_ranges();
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].begin, 0);
  EXPECT_EQ(ranges[0].end, 1);
  EXPECT_EQ(ranges[0].share, 1);
}

TEST(WorkingSet, EvenAccessesNeedNearlyAll) {
  std::mt19937_64 random(5);
  for (const int samples : {100, 1000, 20000}) {
    OffsetHistogram offsets;
    for (int i = 0; i < samples; ++i)
      offsets.add(random() % k_bytes, k_bytes, 1);
    EXPECT_GT(fraction_of(offsets.hot_ranges()), 0.7) << samples;
  }
}

TEST(WorkingSet, FindsAHotQuarterAndItsShare) {
  std::mt19937_64 random(6);
  OffsetHistogram offsets;
  for (int i = 0; i < 4000; ++i) { // 19 of 20 in [1/2, 3/4), in objects of two sizes
    const std::uint64_t bytes = i % 2 == 0 ? k_bytes : 4 * k_bytes;
    const std::uint64_t offset =
        i % 20 == 0 ? random() % bytes : bytes / 2 + random() % (bytes / 4);
    offsets.add(offset, bytes, 1);
  }
  const auto ranges = offsets.hot_ranges();
  double inside = 0;
  for (const HotRange& range : ranges) {
    EXPECT_GE(range.begin, 0.49);
    EXPECT_LE(range.end, 0.76);
    inside += range.share;
  }
  EXPECT_GE(inside, 0.9);
  EXPECT_LE(fraction_of(ranges), 0.26);
}

TEST(WorkingSet, HottestFirstAndByWeight) {
  OffsetHistogram offsets;
  for (int i = 0; i < 1000; ++i) {
    offsets.add(k_bytes / 8, k_bytes, 1);
    offsets.add(k_bytes - 1, k_bytes, 3);
  }
  const auto ranges = offsets.hot_ranges();
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_GT(ranges[0].begin, 0.9);
  EXPECT_EQ(ranges[0].end, 1);
  EXPECT_NEAR(ranges[0].share, 0.75, 1e-6);
  EXPECT_NEAR(ranges[1].share, 0.25, 1e-6);
}

} // namespace
