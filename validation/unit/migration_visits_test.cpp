// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What moves may take where regions come in no order that repeats. Times are made up.
#include "migration/visits.hpp"

#include <gtest/gtest.h>

#include <random>

using namespace omptier;

namespace {

constexpr double k_million = 1e6; // nanoseconds
constexpr std::uint32_t k_regions = 3;

// A program that visits regions in no order. What a visit takes varies by a tenth.
struct Program {
  double move, moved, at_home; // milliseconds: of moves for a visit or home, and of a visit's work
  Visits visits = {};
  std::mt19937 random = std::mt19937(7);
  double now = 1, moving = 0, saved = 0; // milliseconds; saved: really
  std::uint32_t last_moved = 0;
  bool is_at_home = true;
  unsigned begun = 0, with_moves = 0;

  std::uint64_t nanoseconds() const { return static_cast<std::uint64_t>(now * k_million); }
  void visit(std::uint32_t region) {
    visits.end(nanoseconds());
    ++begun;
    const bool moves = visits.may_move(region, nanoseconds());
    if (moves) {
      ++with_moves;
      last_moved = region;
      saved += at_home - moved;
    }
    if (moves || !is_at_home) {
      now += move;
      moving += move;
      visits.spent(last_moved, static_cast<std::uint64_t>(move * k_million));
    }
    is_at_home = !moves;
    visits.begin(region, nanoseconds(), moves ? Visits::Memory::moved : Visits::Memory::at_home);
    now += (moves ? moved : at_home) * std::normal_distribution(1.0, 0.1)(random);
  }
  void run(unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      visit(static_cast<std::uint32_t>(random() % k_regions));
  }
  double of_trials() const { return (Visits::k_trials * k_regions + 2) * move; }
};

TEST(VisitsTest, MovesThatSaveNothingTakeLittle) {
  Program program{.move = 20, .moved = 100, .at_home = 100};
  program.run(2000);
  EXPECT_LE(program.moving, program.of_trials() + 0.025 * program.now);
  EXPECT_GE(program.moving, 0.01 * program.now) << "it goes on being tried";
  EXPECT_LE(program.visits.without_moves(), program.begun - program.with_moves);
  EXPECT_GE(program.visits.without_moves(), 0.9 * (program.begun - program.with_moves));
  EXPECT_LT(program.visits.saved(), 0.01 * program.now * k_million);
}

TEST(VisitsTest, MovesThatProveToSaveGoOn) {
  Program program{.move = 20, .moved = 100, .at_home = 150};
  program.run(2000);
  EXPECT_GE(program.with_moves, 1850u) << "all but one in 32, and a few before it is proved";
  EXPECT_LE(program.visits.without_moves(), 60u);
  EXPECT_GE(program.visits.saved() / k_million, 0.6 * program.saved) << "less by the noise";
  EXPECT_LE(program.visits.saved() / k_million, 1.1 * program.saved);
}

TEST(VisitsTest, MovesThatTakeMoreThanTheySaveAreLimited) {
  Program program{.move = 60, .moved = 100, .at_home = 130};
  program.run(2000);
  EXPECT_LE(program.moving, program.of_trials() + program.saved + 0.03 * program.now);
  EXPECT_LE(program.with_moves, 500u);
}

// Its moves end although another region's go on to pay.
TEST(VisitsTest, WhatOneRegionSavesDoesNotPayForAnother) {
  Visits visits;
  std::uint64_t now = 1;
  unsigned moves[2] = {};
  for (int visit = 0; visit < 400; ++visit)
    for (std::uint32_t region : {0u, 1u}) {
      visits.end(now);
      const bool may = visits.may_move(region, now);
      moves[region] += may ? 1 : 0;
      if (may) visits.spent(region, 20'000), now += 20'000;
      visits.begin(region, now, may ? Visits::Memory::moved : Visits::Memory::at_home);
      now += region == 0 || may ? 100'000 : 200'000; // only the second's moves save anything
    }
  EXPECT_GE(moves[1], 370u);
  EXPECT_LE(moves[0], 100u);
}

// A program whose regions came to do less work: what moves saved before is not what they save now.
TEST(VisitsTest, OldTimesAgeAndAreRefreshed) {
  Program program{.move = 20, .moved = 100, .at_home = 150};
  program.run(1000);
  program.moved = program.at_home = 30;
  program.run(2000);
  const unsigned before = program.with_moves;
  program.run(2000);
  EXPECT_LE(program.with_moves - before, 1000u);
}

// New pages and files.
TEST(VisitsTest, TheFirstVisitOfARegionIsLeftOut) {
  Program program{.move = 20, .moved = 2000, .at_home = 2000};
  for (std::uint32_t region = 0; region < k_regions; ++region)
    program.visit(region);
  program.moved = 100, program.at_home = 150;
  program.run(500);
  EXPECT_GE(program.with_moves, 430u);
}

TEST(VisitsTest, RunsOfOneVisitCountTogether) {
  Visits visits;
  const auto visit = [&](std::uint64_t at, unsigned runs, bool moves) {
    visits.begin(1, at, moves ? Visits::Memory::moved : Visits::Memory::at_home);
    for (unsigned i = 1; i < runs; ++i)
      visits.again();
    visits.end(at + runs * (moves ? 10u : 30u));
    visits.again(); // of no visit
  };
  visit(500, 1, true); // the first
  for (const unsigned runs : {4u, 2u}) {
    EXPECT_EQ(visits.saved(), 0) << "too few to compare with";
    visit(1000, runs, true);
    visit(2000, 1, false);
  }
  const double of_one = 30 - 10 - k_sure * k_least_noise * 30;
  EXPECT_DOUBLE_EQ(visits.saved(), (4 + 2) * of_one);
  visit(3000, 3, true);
  EXPECT_DOUBLE_EQ(visits.saved(), (4 + 2 + 3) * of_one);
}

TEST(VisitsTest, AVisitOfManyRunsIsLong) {
  Visits visits;
  EXPECT_FALSE(visits.is_long());
  visits.begin(0, 1, Visits::Memory::at_home);
  for (std::uint32_t run = 1; run < Visits::k_long; ++run) {
    EXPECT_FALSE(visits.is_long());
    visits.again();
  }
  EXPECT_TRUE(visits.is_long());
}

TEST(VisitsTest, WhatTellsNothingDoesNotCount) {
  Visits visits;
  for (int i = 0; i < 3; ++i) {
    visits.begin(0, 100, Visits::Memory::otherwise);
    visits.end(200);
    visits.begin(0, 200, Visits::Memory::at_home);
    visits.end(400);
  }
  EXPECT_EQ(visits.saved(), 0);
  visits.begin(Visits::k_most_regions, 400, Visits::Memory::moved); // beyond the table
  visits.end(500);
  visits.end(600); // of no visit
  EXPECT_TRUE(visits.may_move(Visits::k_most_regions, 700)) << "nothing was spent";
  visits.spent(Visits::k_most_regions, 1000);
  EXPECT_FALSE(visits.may_move(Visits::k_most_regions, 800));
  EXPECT_TRUE(visits.may_move(0, 800)) << "a trial";
}

} // namespace
