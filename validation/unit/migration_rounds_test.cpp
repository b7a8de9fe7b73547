// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that only exist as the times of their regions: which rounds are looked at, and what is
// decided.
#include "migration/rounds.hpp"

#include <gtest/gtest.h>

#include <array>
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
  double hidden = 0; // of a region's moves, where they are made between regions
  Rounds rounds = {};
  std::uint64_t now = 1000;
  double moving = 0, in_vain = 0; // in all, and since it was said that it does not pay
  unsigned at_home = 0, regions = 0;
  std::array<unsigned, 3> of_way{}; // regions
  Rounds::Way last = Rounds::Way::at_begins;

  void run(unsigned count) {
    for (unsigned round = 0; round < count; ++round)
      for (const char region : sequence) {
        ++regions;
        const bool decided = rounds.verdict().known && !rounds.verdict().pays;
        const Rounds::Way way = rounds.begin(static_cast<std::uint32_t>(region), now);
        const bool moves = way != Rounds::Way::home;
        ++of_way[static_cast<std::size_t>(way)];
        if (moves) {
          const bool between = way == Rounds::Way::between && last == way;
          const double waits = move - (between ? hidden : 0);
          moving += move;
          if (decided) in_vain += move;
          if (move > 0) rounds.moved_for(static_cast<std::uint64_t>(waits));
          now += static_cast<std::uint64_t>(waits);
        } else {
          ++at_home;
        }
        last = way;
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
  EXPECT_LE(program.at_home, 2 * 2u); // rounds 5 and 23
}

TEST(Rounds, WhatDoesNotPayEnds) {
  Program program{"ab", 1e6, 1.2e6, 3e5};
  program.run(50);
  EXPECT_FALSE(program.rounds.verdict().pays);
  EXPECT_EQ(program.in_vain, 0);
  EXPECT_LE(program.moving, 6 * 2 * 3e5);
}

// 4 % of a round, with noise of 2 %: what pays goes on, most of what does not ends.
TEST(Rounds, ASmallDifferenceIsLookedAtAgain) {
  std::mt19937 bits(7);
  std::normal_distribution<double> normal(1, 0.03);
  unsigned ended[2] = {};
  for (int i = 0; i < 200; ++i) {
    const bool pays = i % 2 == 0;
    Program program{"abc", pays ? 1e6 : 1.1e6, 1.2e6, 1.5e5, [&] { return normal(bits); }};
    program.run(200);
    EXPECT_TRUE(program.rounds.verdict().known);
    ended[pays ? 1 : 0] += program.rounds.verdict().pays ? 0 : 1;
  }
  EXPECT_LE(ended[1], 4u);
  EXPECT_GE(ended[0], 60u);
}

// Output each so many rounds, or a hiccup, is no reason to end what saves a quarter.
TEST(Rounds, HeavyRoundsDecideNothing) {
  std::mt19937 bits(11);
  std::normal_distribution<double> normal(1, 0.01);
  for (const unsigned every : {4u, 10u, 25u})
    for (unsigned phase = 0; phase < every; ++phase) {
      unsigned regions = 0;
      Program program{"ab", 1e6, 1.6e6, 2e5,
                      [&] { return normal(bits) * (regions++ / 2 % every == phase ? 5 : 1); }};
      program.run(200);
      EXPECT_TRUE(program.rounds.verdict().pays) << every << " " << phase;
    }
}

// A first problem too small to be moved, then the real one.
TEST(Rounds, RoundsWithoutMovesAreNotCompared) {
  Program program{"ab", 1e6, 1e6, 0};
  program.run(40);
  EXPECT_FALSE(program.rounds.verdict().known);
  EXPECT_EQ(program.at_home, 0u);
  program.without = 2e6;
  program.move = 3e5;
  program.run(40);
  EXPECT_TRUE(program.rounds.verdict().known);
  EXPECT_DOUBLE_EQ(program.rounds.verdict().without, 4e6);
}

// The first rounds look like a shorter sequence.
TEST(Rounds, LongerSequencesAreFound) {
  Program program{"ababac", 1e6, 2e6, 1e5};
  program.run(20);
  EXPECT_TRUE(program.rounds.verdict().known);
  EXPECT_DOUBLE_EQ(program.rounds.verdict().without, 12e6);
}

// Output every ten rounds.
TEST(Rounds, InterruptedSequencesAreFoundAgain) {
  Program program{"ab", 1e6, 2e6, 1e5};
  for (int i = 0; i < 12; ++i) {
    program.sequence = "ab";
    program.run(10);
    program.sequence = "o";
    program.run(1);
  }
  EXPECT_TRUE(program.rounds.verdict().known);
  EXPECT_DOUBLE_EQ(program.rounds.verdict().without, 4e6);
  EXPECT_GE(program.at_home, 2u);
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

// Moves that cost the program nothing are found out, and those that would not pay at begins too.
TEST(Rounds, MovesBetweenRegionsAreTried) {
  for (const double without : {1.2e6, 2e6}) {
    Program program{"ab", 1e6, without, 3e5};
    program.hidden = 2.9e5;
    program.run(30);
    EXPECT_EQ(program.rounds.verdict().way, Rounds::Way::between);
    EXPECT_TRUE(program.rounds.verdict().pays);
    EXPECT_DOUBLE_EQ(program.rounds.verdict().with, 2.02e6);
    EXPECT_DOUBLE_EQ(program.rounds.verdict().without, 2 * without);
    program.of_way = {};
    program.run(100);
    EXPECT_GE(program.of_way[static_cast<std::size_t>(Rounds::Way::between)], 180u);
  }
}

TEST(Rounds, MovesBetweenRegionsThatHideNothingEnd) {
  Program program{"ab", 1e6, 2e6, 3e5};
  program.hidden = -1e5;
  program.run(30);
  EXPECT_EQ(program.rounds.verdict().way, Rounds::Way::at_begins);
  EXPECT_DOUBLE_EQ(program.rounds.verdict().with, 2.6e6);
  EXPECT_LE(program.of_way[static_cast<std::size_t>(Rounds::Way::between)], 2 * 2u);
}

TEST(Rounds, TheNextRegionComesAfterAsManyRuns) {
  Rounds rounds;
  std::uint64_t now = 0;
  const int places[2] = {};
  const auto begin = [&](std::uint32_t region, unsigned runs) {
    rounds.begin(region, now += 1000, &places[region - 7]);
    for (unsigned run = 1; run < runs; ++run)
      rounds.again();
  };
  for (int round = 0; round < 2; ++round) {
    begin(7, 3);
    EXPECT_FALSE(rounds.next().known) << "no round is known";
    begin(8, 1);
  }
  begin(7, 1);
  EXPECT_FALSE(rounds.next().known) << "it ran three times in the rounds before";
  rounds.again();
  EXPECT_FALSE(rounds.next().known);
  rounds.again();
  EXPECT_TRUE(rounds.next().known);
  EXPECT_EQ(rounds.next().region, 8u);
  EXPECT_EQ(rounds.next().place, &places[1]);
  begin(8, 1);
  EXPECT_EQ(rounds.next().region, 7u);
  begin(7, 5); // another number of times
  EXPECT_FALSE(rounds.next().known);
  begin(8, 1);
  begin(7, 5);
  EXPECT_FALSE(rounds.next().known) << "five times in the last round, three before";
  begin(8, 1);
  begin(7, 5);
  EXPECT_TRUE(rounds.next().known);
}

// Home was better than moves at begins when the rounds ended, but that was not all to be compared.
TEST(Rounds, AnUnfinishedComparisonDecidesNothing) {
  Program program{"ab", 1e6, 1.2e6, 3e5};
  program.run(5); // the fifth round is at home
  program.sequence = "cdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN";
  program.of_way = {};
  program.run(20);
  EXPECT_TRUE(program.rounds.verdict().pays);
  EXPECT_EQ(program.of_way[static_cast<std::size_t>(Rounds::Way::home)], 0u);
}

// A region that is entered again and again, and each time loops over barriers a and b; between its
// runs the program does something else. If the plan names it, it is part of the sequence.
struct Looping {
  double with = 0, without = 0, move = 0; // nanoseconds of a stretch, moves not included
  bool is_named = false;
  unsigned rounds_of_loop = 0, stretches = 0, at_home = 0;
  std::function<double()> noise = [] { return 1.0; };
  Rounds rounds = {};
  std::uint64_t now = 1000;

  void stretch(char place, bool at_barrier) {
    const bool moves = rounds.begin(static_cast<std::uint32_t>(place), now, nullptr, at_barrier) !=
                       Rounds::Way::home;
    ++stretches;
    at_home += moves ? 0 : 1;
    if (moves) rounds.moved_for(static_cast<std::uint64_t>(move));
    now += static_cast<std::uint64_t>((moves ? with + move : without) * noise());
  }
  void run(unsigned entries) {
    for (unsigned entry = 0; entry < entries && rounds.verdict().pays; ++entry) {
      if (is_named) stretch('r', false);
      for (unsigned i = 0; i < rounds_of_loop; ++i) {
        stretch('a', true);
        stretch('b', true);
      }
      rounds.region_ended();
      now += 10'000'000;
    }
  }
};

TEST(Rounds, LoopsOverBarriersInARegionThatIsEnteredOften) {
  std::mt19937 bits(5);
  std::normal_distribution<double> normal(1, 0.003);
  for (const bool is_named : {false, true})
    for (unsigned loop = 1; loop <= 24; ++loop)
      for (const bool pays : {false, true}) {
        Looping program{1e6, pays ? 2e6 : 1.1e6, 3e5, is_named, loop};
        program.noise = [&] { return normal(bits); };
        program.run(100);
        const Rounds::Verdict& verdict = program.rounds.verdict();
        EXPECT_TRUE(verdict.known) << loop << is_named;
        EXPECT_EQ(verdict.pays, pays) << loop << is_named;
        if (pays) {
          EXPECT_LE(program.at_home, std::max(10u, program.stretches / 8)) << loop << is_named;
        }
        if (loop > 2 && !is_named) { // without the time between regions
          EXPECT_NEAR(verdict.without, pays ? 4e6 : 2.2e6, 2e5) << loop;
        }
      }
}

// Its loop is now shorter, now longer, and too short for all looks that the noise takes.
TEST(Rounds, LoopsOfDifferentLengths) {
  for (const bool is_named : {false, true})
    for (const bool pays : {false, true}) {
      std::mt19937 bits(3);
      std::normal_distribution<double> normal(1, 0.03);
      Looping program{1e6, pays ? 1.45e6 : 1.2e6, 3e5, is_named};
      program.noise = [&] { return normal(bits); };
      for (int entry = 0; entry < 100; ++entry) {
        program.rounds_of_loop = 7 + bits() % 4;
        program.run(1);
      }
      EXPECT_TRUE(program.rounds.verdict().known) << is_named;
      EXPECT_EQ(program.rounds.verdict().pays, pays) << is_named;
    }
}

// What was measured of one sequence says nothing of another one.
TEST(Rounds, AnInterruptedSequenceIsNotAnotherOne) {
  Program program{"ab", 1e6, 1.1e6, 1e5};
  program.run(9); // the fifth round is at home, and shows no difference
  ASSERT_FALSE(program.rounds.verdict().known);
  program.sequence = "o";
  program.run(1);
  program.sequence = "cd";
  program.with = 3e6;
  program.without = 5e6;
  program.run(40);
  EXPECT_DOUBLE_EQ(program.rounds.verdict().with, 2 * 3.1e6);
  EXPECT_DOUBLE_EQ(program.rounds.verdict().without, 1e7);
}

TEST(Rounds, TheNextMayBeABarrier) {
  Rounds rounds;
  std::uint64_t now = 0;
  for (int round = 0; round < 3; ++round) {
    rounds.begin(7, now += 1000, nullptr, false);
    EXPECT_EQ(rounds.next().at_barrier, round == 2);
    rounds.begin(8, now += 1000, nullptr, true);
    EXPECT_FALSE(rounds.next().at_barrier);
  }
}

// The best way to move is not surely better than none.
TEST(Rounds, TheVerdictTellsTheBestWay) {
  Program program{"ab", 1e6, 1.2e6, 3e5};
  program.hidden = 0.99e5;
  program.run(40);
  EXPECT_FALSE(program.rounds.verdict().pays);
  EXPECT_EQ(program.rounds.verdict().way, Rounds::Way::between);
  EXPECT_DOUBLE_EQ(program.rounds.verdict().with, 2.402e6);
  EXPECT_DOUBLE_EQ(program.rounds.verdict().without, 2.4e6);
}

} // namespace
} // namespace omptier
