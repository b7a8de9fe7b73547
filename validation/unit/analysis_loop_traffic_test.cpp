// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines that a loop's instructions ask of one array, against counts by hand.
#include "analysis/loop_traffic.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>

namespace {

using namespace omptier;

struct Step {
  std::int64_t bytes;
  float share;
};

AccessPattern with_steps(AccessKind kind, std::uint64_t address, float size,
                         const std::vector<Step>& steps) {
  AccessPattern pattern;
  pattern.kind = kind;
  pattern.address = address;
  pattern.accesses = 1000;
  pattern.bytes = 1000 * size;
  for (std::size_t i = 0; i < steps.size(); ++i)
    pattern.strides[i] = {steps[i].bytes, steps[i].share};
  return pattern;
}

// Instructions of a loop; each accesses `size` bytes a thousand times.
class Loop {
public:
  Loop& load(PatternKind kind, std::uint64_t address, float size, std::vector<Step> steps) {
    return add(AccessKind::load, kind, address, size, steps);
  }
  Loop& store(PatternKind kind, std::uint64_t address, float size, std::vector<Step> steps) {
    return add(AccessKind::store, kind, address, size, steps);
  }
  Loop& dealt(double places) { // the last one
    accesses_.back().places = places;
    return *this;
  }
  Loop& fresh(float part) { // the same
    accesses_.back().fresh = part;
    return *this;
  }
  Lines lines(std::int64_t stride = 0) const {
    Lines lines = lines_of(accesses_, stride);
    lines *= 1e-3; // of an iteration
    return lines;
  }

private:
  Loop& add(AccessKind access, PatternKind kind, std::uint64_t address, float size,
            const std::vector<Step>& steps) {
    const AccessPattern& pattern = patterns_.emplace_back(with_steps(access, address, size, steps));
    accesses_.push_back({&pattern, kind});
    return *this;
  }

  std::deque<AccessPattern> patterns_;
  std::vector<KnownAccess> accesses_;
};

constexpr std::uint64_t k_array = std::uint64_t{1} << 40;

TEST(LinesOf, AWalkAsksForEachLineOnce) {
  const Lines lines = Loop().load(PatternKind::sequential, k_array, 8, {{8, 1}}).lines();
  EXPECT_DOUBLE_EQ(lines.streamed_load, 1 / 8.0);
  EXPECT_DOUBLE_EQ(lines.total(), lines.streamed_load);
}

// Of a mesh's nodes: eight indices lead to each line.
TEST(LinesOf, LinesThatIndicesLedToBeforeAreInTheCoresCache) {
  Loop loop;
  loop.load(PatternKind::random, k_array, 8, {}).fresh(0.125F);
  EXPECT_DOUBLE_EQ(loop.lines().gathered_load, 1 / 8.0);
  loop.load(PatternKind::random, k_array + 8, 8, {}); // another field, of which it is not known
  EXPECT_NEAR(loop.lines().gathered_load, 1 / 8.0, 0.02);
  EXPECT_DOUBLE_EQ(Loop().load(PatternKind::random, k_array, 8, {}).lines().gathered_load, 1);
}

// A copy of a page in each iteration: no steps, and 64 lines.
TEST(LinesOf, ACopyAsksForItsLinesOnce) {
  const Lines lines = Loop().store(PatternKind::sequential, k_array, 4096, {}).lines();
  EXPECT_DOUBLE_EQ(lines.streamed_store, 64);
  EXPECT_DOUBLE_EQ(lines.total(), lines.streamed_store);
}

TEST(LinesOf, AnUnrolledLoopOfUnknownSteps) {
  Loop loop;
  for (std::uint64_t i = 0; i < 8; ++i)
    loop.load(PatternKind::sequential, k_array + i * 8, 8, {});
  EXPECT_DOUBLE_EQ(loop.lines().streamed_load, 1);
}

// Eight doubles an iteration, of which each may have been seen in another iteration.
TEST(LinesOf, StepsOfAnUnrolledLoopShareLines) {
  Loop loop;
  for (std::uint64_t i = 0; i < 8; ++i)
    loop.load(PatternKind::sequential, k_array + i * 8 + i % 3 * 64, 8, {{64, 1}});
  EXPECT_DOUBLE_EQ(loop.lines().streamed_load, 1);
}

// Eight accesses of every eighth int: four lines, by one instruction or by eight.
TEST(LinesOf, AStrideOfHalfALine) {
  const Loop rolled = Loop().load(PatternKind::strided, k_array, 4, {{32, 1}});
  EXPECT_DOUBLE_EQ(8 * rolled.lines(32).streamed_load, 4);
  Loop unrolled;
  for (std::uint64_t i = 0; i < 8; ++i)
    unrolled.load(PatternKind::strided, k_array + 32 * i, 4, {{256, 1}});
  EXPECT_DOUBLE_EQ(unrolled.lines(32).streamed_load, 4);
}

// Four ints of every 256 bytes: a line each, and a little more where a row might cross its end.
TEST(LinesOf, RowsOfATile) {
  const Loop rolled = Loop().load(PatternKind::tiled, k_array, 4, {{4, 0.75F}, {244, 0.25F}});
  EXPECT_NEAR(4 * rolled.lines().gathered_load, 1, 0.2);
  const Loop vector = Loop().load(PatternKind::tiled, k_array, 16, {{256, 1}});
  EXPECT_DOUBLE_EQ(vector.lines().gathered_load, 1);
  Loop unrolled;
  for (std::uint64_t i = 0; i < 4; ++i)
    unrolled.load(PatternKind::tiled, k_array + 4 * i, 4, {{256, 1}});
  EXPECT_NEAR(unrolled.lines().gathered_load, 1, 0.2);
}

TEST(LinesOf, FieldsOfAStructureShareLinesIfTheyAreNear) {
  const auto both = [](std::uint64_t apart) {
    return Loop()
        .load(PatternKind::strided, k_array, 8, {{256, 1}})
        .load(PatternKind::strided, k_array + apart, 8, {{256, 1}})
        .lines(256)
        .total();
  };
  EXPECT_NEAR(both(8), 1, 0.2);
  EXPECT_DOUBLE_EQ(both(128), 2);
}

// Three rows of a stencil, 64 KiB apart: two of them come from the cache.
TEST(LinesOf, RowsOfAStencilAreOneStream) {
  Loop loop;
  for (std::uint64_t row = 0; row < 3; ++row)
    loop.load(PatternKind::sequential, k_array + (row << 16), 8, {{8, 1}});
  EXPECT_DOUBLE_EQ(loop.lines().streamed_load, 1 / 8.0);
}

TEST(LinesOf, AGatherAsksForALineEach) {
  const Loop loop = Loop().load(PatternKind::random, k_array, 8, {{4096, 0.3F}, {-70000, 0.3F}});
  EXPECT_DOUBLE_EQ(loop.lines().gathered_load, 1);
  const Loop unknown = Loop().load(PatternKind::random, k_array, 8, {});
  EXPECT_DOUBLE_EQ(unknown.lines().gathered_load, 1);
  const Loop chased = Loop().load(PatternKind::pointer_chase, k_array, 8, {});
  EXPECT_DOUBLE_EQ(chased.lines().chased_load, 1);
}

// As of neighbours in a mesh: most steps are short, and lines of a block follow each other.
TEST(LinesOf, AGatherByShortSteps) {
  const auto part = [](std::int64_t step) {
    const Lines lines = Loop().load(PatternKind::random, k_array, 8, {{step, 1}}).lines();
    return lines.clustered / lines.gathered_load;
  };
  EXPECT_DOUBLE_EQ(part(24), 1);
  EXPECT_DOUBLE_EQ(part(-64), 1);
  EXPECT_DOUBLE_EQ(part(128), 2 / 3.0); // two lines of a block: twice the bytes, not four times
  EXPECT_DOUBLE_EQ(part(4096), 0);
  EXPECT_DOUBLE_EQ(Loop().load(PatternKind::random, k_array, 8, {}).lines().clustered, 0);
}

TEST(LinesOf, StoresAndLoadsAreToldApart) {
  const Lines lines = Loop()
                          .load(PatternKind::random, k_array, 8, {})
                          .store(PatternKind::random, k_array, 8, {})
                          .store(PatternKind::sequential, k_array + (1u << 28), 8, {{8, 1}})
                          .lines();
  EXPECT_DOUBLE_EQ(lines.gathered_load, 1);
  EXPECT_DOUBLE_EQ(lines.scattered_store, 1);
  EXPECT_DOUBLE_EQ(lines.streamed_store, 1 / 8.0);
}

// A memory of 256-byte blocks writes all four lines for one; for two of four it writes twice the
// bytes: a third of the lines alone (2/3 · 4 + 4/3 · 1 = 4).
TEST(LinesOf, StridedStoresLeaveBlocksInPart) {
  const Lines one = Loop().store(PatternKind::strided, k_array, 4, {{256, 1}}).lines(256);
  EXPECT_DOUBLE_EQ(one.scattered_store, 1);
  EXPECT_DOUBLE_EQ(one.streamed_store, 0);
  Loop half;
  for (std::uint64_t i = 0; i < 4; ++i)
    half.store(PatternKind::strided, k_array + 32 * i, 4, {{256, 1}});
  const Lines two = half.lines(32);
  EXPECT_NEAR(two.total(), 2, 0.6);
  EXPECT_NEAR(two.scattered_store / two.total(), 1 / 3.0, 0.15);
  const Lines all = Loop().store(PatternKind::strided, k_array, 4, {{32, 1}}).lines(32);
  EXPECT_DOUBLE_EQ(all.streamed_store, 0.5);
  EXPECT_DOUBLE_EQ(all.scattered_store, 0);
}

TEST(LinesOf, StridedLoadsLeaveBlocksInPart) {
  const Lines one = Loop().load(PatternKind::strided, k_array, 4, {{512, 1}}).lines(512);
  EXPECT_DOUBLE_EQ(one.streamed_load, 1);
  EXPECT_DOUBLE_EQ(one.alone, 1);
  EXPECT_DOUBLE_EQ(one.total(), 1);
  const Lines two = Loop().load(PatternKind::strided, k_array, 4, {{128, 1}}).lines(128);
  EXPECT_DOUBLE_EQ(two.streamed_load, 1);
  EXPECT_DOUBLE_EQ(two.alone, 1 / 3.0);
  const Lines all = Loop().load(PatternKind::sequential, k_array, 4, {{4, 1}}).lines();
  EXPECT_DOUBLE_EQ(all.alone, 0);
}

// 64 counters. Of steps that are seen once the longest are kept: half of the bytes.
TEST(PlacesOf, AreTheCountersThatAStoreGoesThrough) {
  const AccessPattern key = with_steps(AccessKind::load, k_array, 4, {{4, 1}});
  AccessPattern counter = with_steps(AccessKind::load, 2 * k_array, 8,
                                     {{256, 0.03F}, {240, 0.03F}, {264, 0.03F}, {-248, 0.03F}});
  AccessPattern store = with_steps(AccessKind::store, 3 * k_array, 16, {{16, 1}});
  const std::array<const AccessPattern*, 3> sample = {&key, &counter, &store};
  EXPECT_DOUBLE_EQ(places_of(store, sample), 1);
  store.through = 2 * k_array + 88;
  EXPECT_DOUBLE_EQ(places_of(store, sample), 63);
  for (AccessPattern::Stride& step : counter.strides)
    step.bytes *= 8; // a counter a line
  EXPECT_DOUBLE_EQ(places_of(store, sample), 63);
  store.through = k_array + 40;
  EXPECT_DOUBLE_EQ(places_of(store, sample), 1); // the index moves on
  store.through = 5 * k_array;
  EXPECT_DOUBLE_EQ(places_of(store, sample), 1); // not seen to be loaded
  store.through = 2 * k_array + 88;
  store.strides[0].share = 0.3F;
  EXPECT_DOUBLE_EQ(places_of(store, sample), 1); // no streams
}

// Two regions call the loop with one array, and a third with another one.
TEST(TrafficCount, ALoopIsAnotherWithOtherData) {
  const AccessPattern walk = with_steps(AccessKind::load, k_array, 8, {{8, 1}});
  TrafficCount count(1);
  const auto add = [&](std::uint32_t region, std::uint32_t site) {
    count.add({5, region}, walk);
    count.at_site(site, PatternKind::sequential, 1, 0, 2);
    count.end_sample();
  };
  add(1, 0);
  add(2, 0);
  add(3, 1);
  add(3, 1);
  add(3, 1);
  const std::vector<LoopTraffic> traffic = count.traffic();
  ASSERT_EQ(traffic.size(), 2u);
  EXPECT_DOUBLE_EQ(traffic[0].nanoseconds, 2 * 8000);
  EXPECT_DOUBLE_EQ(traffic[1].nanoseconds, 3 * 8000);
  ASSERT_EQ(traffic[1].sites.size(), 1u);
  EXPECT_EQ(traffic[1].sites[0].site, 1u);
  EXPECT_DOUBLE_EQ(traffic[1].sites[0].lines.streamed_load, 3 * 2 * 125);
}

TEST(LinesOf, StoresThatAreDealtToPlaces) {
  Loop loop;
  loop.store(PatternKind::sequential, k_array, 16, {{16, 1}}).dealt(63);
  EXPECT_DOUBLE_EQ(loop.lines().streamed_store, 0.25);
  EXPECT_DOUBLE_EQ(loop.lines().dealt, 0.25);
  EXPECT_DOUBLE_EQ(loop.lines().places_sum / loop.lines().dealt, 63);
  loop.store(PatternKind::sequential, k_array + (64 << 20), 16, {{16, 1}});
  EXPECT_DOUBLE_EQ(loop.lines().streamed_store, 0.5);
  EXPECT_DOUBLE_EQ(loop.lines().dealt, 0.25);
}

TEST(LinesOf, WhatStaysAsksForNothing) {
  EXPECT_DOUBLE_EQ(Loop().load(PatternKind::sequential, k_array, 8, {{0, 1}}).lines().total(), 0);
}

// Of steps that are seen once, the longest are kept; of a run of neighbours, its begin is one.
TEST(LinesOf, TheReachOfScatteredAccesses) {
  Loop loop;
  loop.load(PatternKind::random, k_array, 8,
            {{8, 0.4F}, {900, 0.06F}, {800, 0.06F}, {-700, 0.06F}});
  EXPECT_NEAR(loop.lines().reach_sum / loop.lines().with_reach, 1600, 1);
  EXPECT_DOUBLE_EQ(loop.lines().with_reach, loop.lines().scattered());
  loop.load(PatternKind::random, k_array + (64 << 20), 8, {}); // one without steps
  EXPECT_LT(loop.lines().with_reach, loop.lines().scattered());
  EXPECT_NEAR(loop.lines().reach_sum / loop.lines().with_reach, 1600, 1);
  const Lines walk = Loop().load(PatternKind::sequential, k_array, 8, {{8, 1}}).lines();
  EXPECT_EQ(walk.with_reach, 0);
  const Lines tiles = // seven of each row's eight
      Loop()
          .load(PatternKind::tiled, k_array, 4, {{4, 0.75F}, {248, 0.125F}, {244, 0.125F}})
          .lines();
  EXPECT_GT(tiles.scattered(), 0);
  EXPECT_EQ(tiles.with_reach, 0);
}

} // namespace
