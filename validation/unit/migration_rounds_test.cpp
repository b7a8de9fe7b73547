// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that only exist as the times of their regions: which rounds are looked at, and what is
// decided.
#include "migration/rounds.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

namespace omptier {
namespace {

struct Program {
  std::string sequence;         // of a round: a letter for each region
  double with = 0, without = 0; // nanoseconds of a region, moves not included
  double move = 0;              // of a region's moves
  std::function<double()> noise = [] { return 1.0; };
  Rounds rounds = {};
  std::uint64_t now = 1000;
  double moving = 0, in_vain = 0; // in all, and since it was said that it does not pay
  unsigned at_home = 0, regions = 0;

  void run(unsigned count) {
    for (unsigned round = 0; round < count; ++round)
      for (const char region : sequence) {
        ++regions;
        const bool decided = rounds.verdict().known && !rounds.verdict().pays;
        const bool moves = rounds.begin(static_cast<std::uint32_t>(region), now);
        if (moves) {
          moving += move;
          if (decided) in_vain += move;
          rounds.moved_for(static_cast<std::uint64_t>(move));
          now += static_cast<std::uint64_t>(move);
        } else {
          ++at_home;
        }
        now += static_cast<std::uint64_t>((moves ? with : without) * noise());
      }
  }
};

TEST(Rounds, WhatPaysGoesOn) {
  Program program{"ab", 1e6, 2e6, 3e5};
  program.run(50);
  EXPECT_TRUE(program.rounds.verdict().known);
  EXPECT_TRUE(program.rounds.verdict().pays);
  EXPECT_DOUBLE_EQ(program.rounds.verdict().with, 2.6e6);
  EXPECT_DOUBLE_EQ(program.rounds.verdict().without, 4e6);
  EXPECT_LE(program.at_home, 2 * 2u); // the fifth round, and one in twenty of the others
}

TEST(Rounds, WhatDoesNotPayEnds) {
  Program program{"ab", 1e6, 1.2e6, 3e5};
  program.run(50);
  EXPECT_FALSE(program.rounds.verdict().pays);
  EXPECT_EQ(program.in_vain, 0);
  EXPECT_LE(program.moving, 6 * 2 * 3e5);
}

TEST(Rounds, ASmallDifferenceIsLookedAtAgain) {
  std::mt19937 bits(7);
  std::normal_distribution<double> normal(1, 0.03);
  unsigned right = 0;
  for (int i = 0; i < 200; ++i) {
    const bool pays = i % 2 == 0;
    Program program{"abc", pays ? 1e6 : 1.1e6, 1.2e6, 1.5e5, [&] { return normal(bits); }};
    program.run(60);
    EXPECT_TRUE(program.rounds.verdict().known);
    right += program.rounds.verdict().pays == pays ? 1 : 0;
  }
  EXPECT_GE(right, 190u); // 4 % of a round, with noise of 2 %
}

// The first rounds look like a shorter sequence.
TEST(Rounds, LongerSequencesAreFound) {
  Program program{"ababac", 1e6, 2e6, 1e5};
  program.run(20);
  EXPECT_TRUE(program.rounds.verdict().known);
  EXPECT_DOUBLE_EQ(program.rounds.verdict().without, 12e6);
}

TEST(Rounds, WithoutRoundsThePlanHolds) {
  Program program{"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 1e6, 1e6, 1e6};
  program.run(1);
  EXPECT_EQ(program.at_home, 0u);
  program.run(20); // longer than is followed
  EXPECT_EQ(program.at_home, 0u);
  EXPECT_FALSE(program.rounds.verdict().known);
}

// What was decided holds for the sequences that come later.
TEST(Rounds, AnotherSequenceDoesNotBeginAnew) {
  Program program{"ab", 1e6, 1e6, 1e6};
  program.run(20);
  ASSERT_FALSE(program.rounds.verdict().pays);
  program.moving = 0;
  program.sequence = "acbc";
  program.run(20);
  EXPECT_EQ(program.moving, 0);
}

// A program that grows slower with time, as its mesh grows: still right.
TEST(Rounds, DriftDoesNotDecide) {
  for (const double without : {1.1e6, 2e6}) {
    double factor = 1;
    Program program{"ab", 1e6, without, 3e5, [&] { return factor *= 1.002; }};
    program.run(50);
    EXPECT_EQ(program.rounds.verdict().pays, without > 1.5e6);
  }
}

} // namespace
} // namespace omptier
