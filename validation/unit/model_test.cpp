// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cost formulas at their corners; room over time; the best feasible set against every assignment
// there is, on random instances.
#include "model/cost.hpp"
#include "model/solver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

using namespace omptier;

namespace {

constexpr std::uint64_t MiB = 1 << 20;

Figures figures(double read_ns, double write_ns, double read_gb, double write_gb) {
  return {read_ns, write_ns, read_gb * 1e9, write_gb * 1e9};
}

TEST(Cost, ScatteredLoadsPayLatencyAndStreamsPayBandwidth) {
  const Figures nvm = figures(300, 900, 30, 10);
  EXPECT_DOUBLE_EQ(access_time(Manner::scattered_load, nvm, 1), 300);
  EXPECT_DOUBLE_EQ(access_time(Manner::streamed_load, nvm, 1), 300.0 / 16);
  EXPECT_DOUBLE_EQ(access_time(Manner::streamed_load, nvm, 32), 64.0 * 32 / 30);
  EXPECT_GT(access_time(Manner::streamed_store, nvm, 8),
            access_time(Manner::streamed_load, nvm, 8));
}

TEST(Cost, HbmLosesScatteredLoadsAndWinsStreams) {
  const Figures dram = figures(80, 80, 100, 100);
  const Figures hbm = figures(130, 130, 400, 400);
  EXPECT_LT(access_time(Manner::scattered_load, dram, 4),
            access_time(Manner::scattered_load, hbm, 4));
  EXPECT_GT(access_time(Manner::streamed_load, dram, 32),
            access_time(Manner::streamed_load, hbm, 32));
}

TEST(Cost, StreamsWhoseLinesAreAloneMoveWholeBlocks) {
  Figures nvm = figures(300, 900, 30, 10);
  nvm.block = 256;
  Demand demand;
  demand.of(Manner::streamed_load) = 100;
  const double all = demand_time(demand, nvm, 32);
  demand.alone = 1;
  EXPECT_DOUBLE_EQ(demand_time(demand, nvm, 32), 4 * all);
  Demand others;
  others.of(Manner::streamed_load) = 300;
  demand += others;
  EXPECT_DOUBLE_EQ(demand.alone, 0.25);
  EXPECT_DOUBLE_EQ(demand_time(demand, nvm, 32), (4 + 3) * all);
  nvm.block = 64;
  EXPECT_DOUBLE_EQ(demand_time(demand, nvm, 32), 4 * all);
}

// A block stays until 128 others have come. By hand: m = 1 + 3 - exp(-m) (3 + 2 m + m^2 / 2) has
// the root 3.52, so that 4 / 3.52 times the lines move; with m / 2 for m it is 1.958.
TEST(Cost, StoresDealtToManyPlacesMoveMoreOfTheirBlocks) {
  Figures nvm = figures(300, 900, 30, 10);
  nvm.block = 256;
  Demand demand;
  demand.of(Manner::streamed_store) = 100;
  const double all = demand_time(demand, nvm, 32);
  demand.dealt = 1;
  EXPECT_NEAR(demand_time(demand, nvm, 32) / all, 1, 1e-3); // to one place of each thread
  demand.places = 4;
  EXPECT_NEAR(demand_time(demand, nvm, 32) / all, 4 / 3.52, 0.002);
  demand.places = 8;
  EXPECT_NEAR(demand_time(demand, nvm, 32) / all, 4 / 1.958, 0.005);
  demand.places = 4000;
  EXPECT_NEAR(demand_time(demand, nvm, 32) / all, 4, 0.02);
  Demand others;
  others.of(Manner::streamed_store) = 300;
  demand += others;
  EXPECT_DOUBLE_EQ(demand.dealt, 0.25);
  EXPECT_DOUBLE_EQ(demand.places, 4000);
  EXPECT_NEAR(demand_time(demand, nvm, 32) / all, 4 + 3, 0.02);
  nvm.block = 64;
  EXPECT_DOUBLE_EQ(demand_time(demand, nvm, 32), 4 * all);
}

TEST(Cost, ClusteredLoadsMoveOneLineEach) {
  Figures nvm = figures(300, 900, 30, 10);
  nvm.block = 256;
  Demand demand;
  demand.of(Manner::scattered_load) = 100;
  const double all = demand_time(demand, nvm, 320);
  demand.clustered = 1;
  EXPECT_DOUBLE_EQ(4 * demand_time(demand, nvm, 320), all);
  Demand others;
  others.of(Manner::scattered_load) = 300;
  demand += others;
  EXPECT_DOUBLE_EQ(demand.clustered, 0.25);
  EXPECT_DOUBLE_EQ(demand_time(demand, nvm, 320), (0.25 + 3) * all);
}

// 64 B at 30 and at 10 GB/s.
TEST(Cost, LinesThatAreStoredBackAreWrittenToo) {
  const Figures nvm = figures(300, 900, 30, 10);
  Demand demand;
  demand.of(Manner::streamed_load) = 100;
  demand.stored_back = 0.5;
  EXPECT_DOUBLE_EQ(demand_time(demand, nvm, 32), 100 * 32 * (64 / 30.0 + 0.5 * 6.4));
  Demand others;
  others.of(Manner::scattered_load) = 300;
  demand += others;
  EXPECT_DOUBLE_EQ(demand.stored_back, 0.125);
}

// A line read and written takes as long as two of a mix of both.
TEST(Cost, MediaThatTurnSlowlyTakeLongerForBoth) {
  Figures nvm = figures(300, 900, 30, 10);
  nvm.mixed_bandwidth = 8e9;
  EXPECT_DOUBLE_EQ(access_time(Manner::streamed_store, nvm, 32), 32 * 2 * 64 / 8.0);
  EXPECT_DOUBLE_EQ(access_time(Manner::streamed_load, nvm, 32), 32 * 64 / 30.0);
  Demand demand;
  demand.of(Manner::streamed_load) = 1;
  demand.stored_back = 1;
  EXPECT_DOUBLE_EQ(demand_time(demand, nvm, 32), 32 * 2 * 64 / 8.0);
  const Figures dram = figures(80, 80, 100, 100);
  Figures apart = nvm;
  apart.mixed_bandwidth = 0;
  EXPECT_EQ(move_time(8 * MiB, dram, nvm), move_time(8 * MiB, dram, apart)); // it only writes there
}

// Whole blocks of four lines, for d lines from one to the next: 64 · (4 · part + 1 - part) bytes.
TEST(Cost, PartOfAStreamAloneInItsBlock) {
  EXPECT_DOUBLE_EQ(alone_part(4), 0);
  EXPECT_DOUBLE_EQ(alone_part(2), 1 / 3.0);
  EXPECT_DOUBLE_EQ(alone_part(4 / 3.0), 2 / 3.0);
  EXPECT_DOUBLE_EQ(alone_part(0.25), 1);
}

TEST(Cost, EnoughThreadsMakeEveryStreamWaitForBandwidth) {
  const Figures hbm = figures(130, 130, 400, 400);
  const unsigned threads = threads_that_saturate(hbm);
  EXPECT_EQ(threads, 51u); // 130 ns · 400 GB/s are 812 lines, 16 a thread
  EXPECT_DOUBLE_EQ(access_time(Manner::streamed_load, hbm, threads), 64.0 * threads / 400);
  EXPECT_GT(access_time(Manner::streamed_load, hbm, threads - 1), 64.0 * (threads - 1) / 400);
  EXPECT_EQ(threads_that_saturate({}), 1u);
}

// Figures of the virtual machine dram-hbm-nvm; measured there: 8 MiB to NVM 25 ms, back 6.7 ms.
TEST(Cost, MovesTakeAsLongAsMeasured) {
  const Figures dram = figures(80, 80, 105, 105), nvm = figures(300, 900, 31.5, 10.5);
  EXPECT_NEAR(move_time(8 * MiB, dram, nvm) / 1e6, 25, 0.2 * 25);
  EXPECT_NEAR(move_time(8 * MiB, nvm, dram) / 1e6, 6.7, 0.2 * 6.7);
  EXPECT_GT(move_time(MiB, nvm, dram), move_time(2 * MiB, nvm, dram) / 2); // small pages cost more
}

TEST(Room, OnlyObjectsAliveTogetherCompete) {
  const Stay early[] = {{0, 2, 60}}, late[] = {{2, 4, 60}}, between[] = {{1, 3, 60}};
  const Need a{60, early}, b{60, late}, c{60, between}, all{40, {}};
  Room room;
  const std::uint64_t capacity[] = {100};
  ASSERT_TRUE(room.make(capacity, 4));
  ASSERT_TRUE(room.fits(a, 0));
  room.take(a, 0);
  ASSERT_TRUE(room.fits(b, 0));
  room.take(b, 0);
  EXPECT_FALSE(room.fits(c, 0));
  EXPECT_TRUE(room.fits(all, 0));
  room.take(all, 0);
  EXPECT_FALSE(room.fits({1, {}}, 0));
  room.give_back(b, 0);
  EXPECT_FALSE(room.fits(c, 0));
  room.give_back(a, 0);
  EXPECT_TRUE(room.fits(c, 0));
}

struct Instance {
  std::vector<Candidate> candidates;
  std::vector<std::uint64_t> room;
  std::size_t pieces = 1;
  std::vector<std::vector<Stay>> stays; // of the candidates, where they do not stay all the time
  std::vector<std::uint8_t> chosen;

  double solve(DecisionOrder order) {
    chosen.assign(candidates.size(), 77);
    EXPECT_TRUE(choose_set({candidates, room, pieces}, order, chosen));
    double gain = 0;
    EXPECT_TRUE(is_feasible(chosen, gain));
    return gain;
  }

  // Nothing lies where it may not, nor is there ever more in a tier than it holds. gain: the sum.
  bool is_feasible(const std::vector<std::uint8_t>& tiers, double& gain) const {
    std::array<std::uint64_t, 32> used{};
    gain = 0;
    for (std::size_t i = 0; i < tiers.size(); ++i) {
      const Candidate& c = candidates[i];
      gain += tiers[i] == k_nowhere ? -c.loss : c.gain[tiers[i]];
      if (tiers[i] == k_nowhere) continue;
      if (!(c.allowed >> tiers[i] & 1)) return false;
      const auto take = [&](std::size_t piece, std::uint64_t bytes) {
        return (used[tiers[i] * pieces + piece] += bytes) <= room[tiers[i]];
      };
      if (stays.empty() && !take(0, c.bytes)) return false;
      for (const Stay& stay : c.stays)
        for (std::uint32_t piece = stay.begin; piece < stay.end; ++piece)
          if (!take(piece, stay.bytes)) return false;
    }
    return true;
  }
};

Instance random_instance(std::mt19937& random, std::size_t count, std::size_t tiers) {
  Instance instance;
  std::uniform_int_distribution<std::uint64_t> size(1, 100);
  std::uniform_real_distribution<double> gain(0, 10);
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Candidate c;
    c.bytes = size(random);
    c.loss = 1;
    c.weight = gain(random);
    for (std::size_t t = 0; t < tiers; ++t)
      if (random() % 8 != 0) {
        c.allowed |= 1u << t;
        c.gain[t] = t + 1 == tiers ? 0 : gain(random);
      }
    all += c.bytes;
    instance.candidates.push_back(c);
  }
  for (std::size_t t = 0; t < tiers; ++t)
    instance.room.push_back(random() % (all / 2 + 1));
  return instance;
}

double best_of_all(const Instance& instance) {
  std::vector<std::uint8_t> chosen(instance.candidates.size(), 0);
  const auto options = instance.room.size() + 1;
  double best = -1e300;
  for (;;) {
    std::vector<std::uint8_t> tiers = chosen;
    for (auto& tier : tiers)
      if (tier + 1u == options) tier = k_nowhere;
    double gain = 0;
    if (instance.is_feasible(tiers, gain)) best = std::max(best, gain);
    std::size_t i = 0;
    while (i < chosen.size() && ++chosen[i] == options)
      chosen[i++] = 0;
    if (i == chosen.size()) return best;
  }
}

TEST(Solver, SmallSetsAreExact) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    Instance instance = random_instance(random, 1 + random() % 6, 1 + random() % 3);
    for (Candidate& candidate : instance.candidates) {
      candidate.mandatory = round % 2 == 1 && random() % 3 == 0;
      if (candidate.mandatory) candidate.loss = 1000;
    }
    const double best = best_of_all(instance);
    EXPECT_NEAR(instance.solve(DecisionOrder::density), best, 1e-6) << "round " << round;
    EXPECT_LE(instance.solve(DecisionOrder::importance), best + 1e-6);
    EXPECT_LE(instance.solve(DecisionOrder::declaration), best + 1e-6);
  }
}

// Each lives for a part of the time; those that are never alive together share room.
Instance with_lifetimes(Instance instance, std::mt19937& random) {
  instance.pieces = 6;
  instance.stays.resize(instance.candidates.size());
  for (std::size_t i = 0; i < instance.stays.size(); ++i) {
    Candidate& candidate = instance.candidates[i];
    std::uint32_t at = static_cast<std::uint32_t>(random() % 4);
    instance.stays[i].push_back({at, at + 2, candidate.bytes});
    if (at < 2) instance.stays[i].push_back({at + 3, at + 4, candidate.bytes / 2});
    candidate.stays = instance.stays[i];
  }
  return instance;
}

TEST(Solver, SmallSetsWithLifetimesAreExact) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    Instance instance =
        with_lifetimes(random_instance(random, 1 + random() % 6, 1 + random() % 3), random);
    EXPECT_NEAR(instance.solve(DecisionOrder::density), best_of_all(instance), 1e-6)
        << "round " << round;
  }
}

TEST(Solver, WhoLivesInTurnSharesTheRoom) {
  Instance instance;
  instance.pieces = 2;
  instance.room = {10};
  instance.stays = {{{0, 1, 10}}, {{1, 2, 10}}, {{0, 2, 10}}};
  for (std::size_t i = 0; i < 3; ++i) {
    Candidate& candidate = instance.candidates.emplace_back();
    candidate.bytes = 10;
    candidate.stays = instance.stays[i];
    candidate.allowed = 1;
    candidate.gain[0] = i == 2 ? 15 : 10;
  }
  EXPECT_DOUBLE_EQ(instance.solve(DecisionOrder::density), 20);
  EXPECT_EQ(instance.chosen, (std::vector<std::uint8_t>{0, 0, k_nowhere}));
}

TEST(Solver, LargeSetsAreFeasibleAndNoWorseThanFirstComeFirstServed) {
  std::mt19937 random(2);
  for (int round = 0; round < 20; ++round) {
    Instance instance = random_instance(random, 25 + random() % 500, 4);
    const double first_come = instance.solve(DecisionOrder::declaration);
    EXPECT_GE(instance.solve(DecisionOrder::density), first_come);
  }
}

TEST(Solver, MandatoryComesFirst) {
  Instance instance;
  Candidate dear, required;
  dear.bytes = required.bytes = 10;
  dear.allowed = required.allowed = 1;
  dear.gain[0] = 1000;
  required.mandatory = true;
  required.loss = 1e6;
  instance.room = {10};
  instance.candidates = {dear, required};
  for (const auto order :
       {DecisionOrder::density, DecisionOrder::importance, DecisionOrder::declaration}) {
    if (order == DecisionOrder::declaration) continue; // that order is the caller's own
    instance.solve(order);
    EXPECT_EQ(instance.chosen[0], k_nowhere);
    EXPECT_EQ(instance.chosen[1], 0);
  }
}

// Too many for the exact search. The required one gains nothing, but nobody gets in for its going.
TEST(Solver, ExchangesLeaveWhatIsRequired) {
  Instance instance;
  instance.room = {100, 1000};
  instance.candidates.resize(k_exact_candidates + 1);
  for (Candidate& candidate : instance.candidates) {
    candidate.bytes = 10;
    candidate.allowed = 3;
  }
  Candidate &required = instance.candidates[0], &dense = instance.candidates[1],
            &best = instance.candidates[2];
  required.bytes = 40;
  required.allowed = 1;
  required.mandatory = true;
  required.loss = 1e6;
  dense.bytes = 35;
  dense.gain[0] = 35;
  best.bytes = 60;
  best.gain[0] = 59;
  EXPECT_DOUBLE_EQ(instance.solve(DecisionOrder::density), 59);
  EXPECT_EQ(instance.chosen[0], 0);
  EXPECT_EQ(instance.chosen[1], 1);
  EXPECT_EQ(instance.chosen[2], 0);
}

// What the others gain at most in so much room of one tier.
double best_in(std::uint64_t room, std::span<const Candidate> candidates) {
  std::vector<double> best(room + 1, 0);
  for (const Candidate& candidate : candidates)
    for (std::uint64_t bytes = room; bytes >= candidate.bytes; --bytes)
      best[bytes] = std::max(best[bytes], best[bytes - candidate.bytes] + candidate.gain[0]);
  return best[room];
}

// As many as are searched, in one tier. The first is required, gains nothing and takes half of it.
Instance half_required(std::mt19937& random) {
  Instance instance;
  Candidate& required = instance.candidates.emplace_back();
  required.mandatory = true;
  required.loss = 1e6;
  required.allowed = 1;
  required.bytes = 500;
  instance.room = {1000};
  while (instance.candidates.size() < k_exact_candidates) {
    Candidate& other = instance.candidates.emplace_back();
    other.bytes = 50 + random() % 150;
    other.gain[0] = static_cast<double>(other.bytes + random() % 20);
    other.allowed = 1;
  }
  return instance;
}

// The search keeps the room for it, and has steps enough left for the others.
TEST(Solver, WhatIsRequiredDoesNotHideTheBestOfTheOthers) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    Instance instance = half_required(random);
    const double best = best_in(500, std::span(instance.candidates).subspan(1));
    EXPECT_NEAR(instance.solve(DecisionOrder::density), best, 1e-6) << "round " << round;
    EXPECT_EQ(instance.chosen[0], 0);
  }
}

// Nor what may lie nowhere, and what comes late.
TEST(Solver, WhatNeedsNoRoomIsNotCounted) {
  std::mt19937 random(6);
  for (int round = 0; round < 20; ++round) {
    Instance instance = half_required(random);
    const double best = best_in(500, std::span(instance.candidates).subspan(1));
    for (int more = 0; more < 30; ++more) {
      Candidate& other = instance.candidates.emplace_back();
      other.gain[0] = more % 3 == 2 ? 1000 : 3;
      other.allowed = more % 3 == 0 ? 0 : 1;
      other.bytes = more % 3 == 1 ? 0 : 1001;
      other.late = more % 3 == 2;
    }
    std::ranges::reverse(instance.candidates);
    EXPECT_NEAR(instance.solve(DecisionOrder::density), best + 30, 1e-6) << "round " << round;
  }
}

// Three lists are all the memory that a decision needs: with them, nothing refuses it any more.
TEST(Solver, TheSearchNeedsNoMemoryOfItsOwn) {
  std::mt19937 random(4);
  Instance instance = random_instance(random, 6, 2);
  const double best = best_of_all(instance);
  g_most_pages = g_pages_taken + 3 * page_size();
  EXPECT_NEAR(instance.solve(DecisionOrder::density), best, 1e-6);
  g_most_pages = g_pages_taken + 2 * page_size();
  EXPECT_FALSE(choose_set({instance.candidates, instance.room}, DecisionOrder::density,
                          instance.chosen));
  g_most_pages = ~std::size_t{0};
}

TEST(Solver, LateOnesTakeWhatOthersLeave) {
  Instance instance;
  instance.room = {30, 20};
  for (const std::uint64_t bytes : {20, 10, 10, 20}) {
    Candidate& candidate = instance.candidates.emplace_back();
    candidate.bytes = bytes;
    candidate.allowed = 3;
    candidate.gain[0] = bytes == 10 ? 50 : 5;
    candidate.late = bytes == 10;
  }
  for (const auto order :
       {DecisionOrder::density, DecisionOrder::importance, DecisionOrder::declaration}) {
    instance.solve(order);
    EXPECT_EQ(instance.chosen, (std::vector<std::uint8_t>{0, 0, k_nowhere, 1}));
  }
}

TEST(Solver, EqualGainsLeaveTheFasterTierFree) {
  Instance instance;
  Candidate cold;
  cold.bytes = 1;
  cold.allowed = 7;
  instance.room = {10, 10, 10};
  instance.candidates = {cold};
  instance.solve(DecisionOrder::density);
  EXPECT_EQ(instance.chosen[0], 2);
}

} // namespace
