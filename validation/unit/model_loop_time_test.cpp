// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time of loops over arrays in several memories: cases by hand, and what the bound rests on.
#include "model/loop_time.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace omptier {
namespace {

constexpr double k_near = 1e-9;
constexpr LoopPart k_whole{0, 1};
// A scattered load waits 100 ns and takes 1 ns of the first's bandwidth, 300 and 4 of the second's.
const std::vector<Figures> k_memories = {{100, 100, 64e9, 64e9}, {300, 300, 16e9, 16e9}};
constexpr std::array<double, 1> k_no_work = {};

LoopItem loads(double scattered, double streamed) {
  LoopItem item{{}, {&k_whole, 1}};
  item.demand.of(Manner::scattered_load) = scattered;
  item.demand.of(Manner::streamed_load) = streamed;
  return item;
}

double third(double a, double b) {
  return std::cbrt(a * a * a + b * b * b);
}

TEST(LoopTime, OneMemoryAnswersLaterUnderLoad) {
  LoopTimes times(k_memories, 1, k_no_work);
  times.add(loads(1, 100), 0);
  const double wait = 100 + 100 * 100 / 16.0, transfer = 1 + 100;
  EXPECT_NEAR(times.time(), third(wait, transfer), k_near);
  EXPECT_NEAR(LoopTimes(k_memories, 1, std::array{5.0}).time(), 5, k_near);
}

// 1000 ns of gathers that take 700 of their memory's bandwidth, by 70 threads, and streams that
// take 700 of either's.
TEST(LoopTime, StreamsSlowGathersInTheirOwnMemory) {
  const std::vector<Figures> alike = {{100, 100, 64e9, 64e9}, {100, 100, 64e9, 64e9}};
  LoopTimes apart(alike, 70, k_no_work), together(alike, 70, k_no_work);
  for (LoopTimes* times : {&apart, &together})
    times->add(loads(10, 0), 0);
  apart.add(loads(0, 10), 1);
  together.add(loads(0, 10), 0);
  EXPECT_LT(apart.time(), 0.85 * together.time());
  EXPECT_NEAR(together.time(), third(1000 + 175, 1400), k_near); // a quarter of 700 is waited for
}

TEST(LoopTime, TwoMemoriesTransferAtTheSameTime) {
  LoopTimes times(k_memories, 100, k_no_work);
  times.add(loads(0, 4), 0); // 400 ns
  times.add(loads(0, 1), 1); // the same
  EXPECT_GE(times.time(), 400);
  EXPECT_LT(times.time(), 420);
}

// Gathers of 1000 ns whose lines move in 640, and half of them in a memory that waits as long but
// moves fewer: its queue delays what is waited for there.
TEST(LoopTime, AHalfInABusyMemoryIsNoGain) {
  const std::vector<Figures> memories = {{100, 100, 64e9, 64e9}, {100, 100, 21e9, 21e9}};
  LoopTimes together(memories, 64, k_no_work), apart(memories, 64, k_no_work);
  for (LoopTimes* times : {&together, &apart})
    for (const std::size_t half : {0, 1})
      times->add(loads(5, 0), times == &apart ? half : 0);
  EXPECT_NEAR(together.time(), third(1000, 640), k_near);
  EXPECT_GT(apart.time(), 1.05 * together.time());
  const double busy = 5 * 64 / 21.0 * 64 / apart.time(), other = 320 / apart.time();
  EXPECT_NEAR(apart.time(),
              500 / std::cbrt(1 - std::pow(busy, 3)) + 500 / std::cbrt(1 - std::pow(other, 3)),
              k_near);
}

TEST(LoopTime, CoresWaitForOneMemoryAtATime) {
  LoopTimes times(k_memories, 1, k_no_work);
  times.add(loads(3, 0), 0);
  times.add(loads(1, 0), 1);
  EXPECT_NEAR(times.time(), 600, 1);
}

struct Random {
  std::mt19937_64 bits{20261128};
  double below(double most) { return std::uniform_real_distribution(0.0, most)(bits); }
};

class RandomLoops {
public:
  static constexpr std::size_t k_items = 5, k_tiers = 3;

  explicit RandomLoops(Random& random, LoopTimes::Which which = LoopTimes::Which::usual)
      : work_{random.below(2) < 1 ? 0 : random.below(3e4), random.below(3e4)},
        memories_{{80, 80, 100e9, 90e9}, {130, 130, 400e9, 300e9}, {300, 300, 30e9, 10e9}},
        times(memories_, 1 + static_cast<unsigned>(random.below(60)), work_, which) {
    for (std::size_t item = 0; item < k_items; ++item) {
      parts_.push_back({{0, random.below(0.5)}, {1, random.below(0.5)}});
      LoopItem made{{}, parts_.back()};
      for (double& accesses : made.demand.accesses)
        accesses = random.below(2) < 1 ? 0 : random.below(100);
      made.demand.at_once = 1 + random.below(4);
      const auto tier = static_cast<std::size_t>(random.below(k_tiers));
      times.add(made, tier);
      where.push_back(tier);
    }
  }

private:
  std::vector<double> work_;
  std::vector<Figures> memories_;
  std::vector<std::vector<LoopPart>> parts_;

public:
  LoopTimes times;
  std::vector<std::size_t> where;
};

TEST(LoopTime, IsNeverBelowTheConvexOne) {
  Random random;
  for (int round = 0; round < 500; ++round) {
    Random same = random;
    const RandomLoops usual(random), convex(same, LoopTimes::Which::convex);
    ASSERT_GE(usual.times.time(), convex.times.time() * (1 - 1e-9));
    double by_slopes = usual.times.slope_of_work();
    for (std::size_t item = 0; item < usual.k_items; ++item)
      by_slopes += usual.times.slope(item, usual.where[item]);
    ASSERT_NEAR(by_slopes, usual.times.time(), 1e-7 * usual.times.time());
  }
}

// It lies above each of its tangents: so the sum of slopes is a bound for every placement.
TEST(LoopTime, TheConvexOneIsAboveItsTangents) {
  Random random;
  for (int round = 0; round < 500; ++round) {
    RandomLoops loops(random, LoopTimes::Which::convex);
    const double here = loops.times.time();
    double by_slopes = loops.times.slope_of_work();
    for (std::size_t item = 0; item < loops.k_items; ++item)
      by_slopes += loops.times.slope(item, loops.where[item]);
    ASSERT_NEAR(by_slopes, here, 1e-7 * here);
    for (int other = 0; other < 20; ++other) {
      double tangent = loops.times.slope_of_work();
      std::vector<std::size_t> there;
      for (std::size_t item = 0; item < loops.k_items; ++item) {
        there.push_back(static_cast<std::size_t>(random.below(loops.k_tiers)));
        tangent += loops.times.slope(item, there.back());
      }
      for (std::size_t item = 0; item < loops.k_items; ++item)
        loops.times.move(item, there[item]);
      ASSERT_GE(loops.times.time(), tangent - 1e-7 * here);
      for (std::size_t item = 0; item < loops.k_items; ++item)
        loops.times.move(item, loops.where[item]);
    }
    ASSERT_NEAR(loops.times.time(), here, 1e-9 * here); // whatever came and went
  }
}

TEST(LoopTime, ChangesAndSlopesAreThoseOfMoves) {
  Random random;
  for (int round = 0; round < 200; ++round) {
    RandomLoops loops(random);
    for (std::size_t item = 0; item < loops.k_items; ++item) {
      const std::size_t from = loops.where[item], to = (from + 1) % loops.k_tiers;
      const double before = loops.times.time(), change = loops.times.change(item, to);
      const double slope = loops.times.slope(item, to) - loops.times.slope(item, from);
      constexpr double k_little = 1e-6;
      loops.times.shift(item, from, to, k_little);
      ASSERT_NEAR((loops.times.time() - before) / k_little, slope, 1e-3 * before);
      loops.times.shift(item, to, from, k_little);
      loops.times.move(item, to);
      ASSERT_NEAR(loops.times.time() - before, change, 1e-9 * before);
      loops.times.move(item, from);
    }
  }
}

} // namespace
} // namespace omptier
