// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions about advice: what the samples leave open, how much of a memory is enough, what would
// put a site elsewhere.
#include "advisor/alternatives.hpp"
#include "advisor/curve.hpp"
#include "advisor/decision.hpp"
#include "advisor/from_samples.hpp"
#include "advisor/together.hpp"
#include "advisor_fast_and_slow.hpp"
#include "base/text.hpp"
#include "cli/named_site.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace omptier {
namespace {

SiteDemand site_of(const std::string& label, std::size_t site, std::uint64_t bytes, double loads) {
  SiteDemand demand;
  demand.label = label;
  demand.site = site;
  demand.live = {{0, 1000, bytes}};
  demand.demand.of(Manner::scattered_load) = loads;
  return demand;
}

void give_shares(Workload& workload, double wrong) {
  double all = 0;
  for (const SiteDemand& demand : workload.sites)
    all += demand.demand.total();
  for (SiteDemand& demand : workload.sites) {
    demand.share = demand.demand.total() / all;
    demand.share_low = demand.share * (1 - wrong);
    demand.share_high = demand.share * (1 + wrong);
  }
}

// By value per byte: grid, table, list.
Workload three_sites() {
  Workload workload;
  workload.sites = {site_of("grid (a.c:1)", 0, 64 * MiB, 9e6),
                    site_of("table (a.c:2)", 1, 32 * MiB, 2e6),
                    site_of("list (a.c:3)", 2, 128 * MiB, 3e6)};
  give_shares(workload, 0.1);
  return workload;
}

TEST(FromSamples, ASpeedUpHasTheSitesIntervals) {
  const Advice advice = advise(three_sites(), tiers(64 * MiB));
  const Range gain = speed_up_from_samples(advice);
  EXPECT_DOUBLE_EQ(gain.value, gain_of(advice).value);
  EXPECT_LT(gain.low, gain.value);
  EXPECT_GT(gain.high, gain.value);
  Workload exact = three_sites();
  give_shares(exact, 0);
  const Range known = speed_up_from_samples(advise(std::move(exact), tiers(64 * MiB)));
  EXPECT_DOUBLE_EQ(known.low, known.value);
  EXPECT_DOUBLE_EQ(known.high, known.value);
}

TEST(FromSamples, APriceIsAsUnsureAsTheDemandThatPays) {
  Workload workload = three_sites();
  const Advice advice = advise(workload, tiers(64 * MiB));
  workload.sites[0].kept = 1;
  const Advice other = advise(workload, tiers(64 * MiB));
  const Range price = price_from_samples(advice, other);
  EXPECT_GT(price.value, 0);
  EXPECT_NEAR(price.value, other.time - advice.time, 1e-6 * price.value);
  // 9e6 loads lose what 2e6 win: the halves are a tenth of both, and independent.
  const double lost = advice.costs[0][1] - advice.costs[0][0];
  const double won = advice.costs[1][1] - advice.costs[1][0];
  EXPECT_NEAR(price.high - price.value, 0.1 * std::hypot(lost, won), 0.01 * lost);
}

TEST(Curve, NeverRisesAndNamesWhatMovesIn) {
  CapacityCurve curve(three_sites(), tiers(0), 0);
  for (const std::uint64_t capacity : {0 * MiB, 32 * MiB, 64 * MiB, 96 * MiB, 224 * MiB, 512 * MiB})
    curve.add(capacity);
  double before = curve.time_in_slowest();
  EXPECT_NEAR(curve.points().at(0).time, before, 1e-6 * before);
  for (const auto& [capacity, advice] : curve.points()) {
    EXPECT_LE(advice.time, before * (1 + 1e-9)) << capacity;
    before = advice.time;
  }
  EXPECT_DOUBLE_EQ(curve.points().at(512 * MiB).time, curve.points().at(224 * MiB).time);
  const auto moved = curve.arrivals(0, 64 * MiB);
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0].label, "grid (a.c:1)");
  EXPECT_DOUBLE_EQ(moved[0].now, 1);
  EXPECT_TRUE(curve.arrivals(224 * MiB, 512 * MiB).empty());
}

// Sites with lifetimes in shared loops, for which the search is not exact.
Workload many_sites() {
  Workload workload;
  for (std::size_t site = 0; site < 60; ++site) {
    const std::uint64_t bytes = ((site * 104729) % 17 + 23) * MiB;
    SiteDemand demand = site_of("array " + std::to_string(site), site, bytes,
                                1e4 * static_cast<double>((site * 7919) % 31 + 1));
    const std::uint64_t begin = site * 37 % 100 * 10;
    demand.live = {{begin, begin + 300 + site * 101 % 700, bytes}};
    demand.by_loop = {{static_cast<std::uint32_t>(site % 3), 1}};
    workload.sites.push_back(std::move(demand));
  }
  workload.loop_work = {1e6, 2e6, 3e6};
  give_shares(workload, 0.2);
  return workload;
}

TEST(Curve, TakesThePointBeforeWhereTheSearchFindsLessWithMoreRoom) {
  CapacityCurve curve(many_sites(), tiers(0), 0);
  double alone_before = curve.time_in_slowest(), before = alone_before;
  int rises = 0;
  for (std::uint64_t capacity = 100 * MiB; capacity < 130 * MiB; capacity += 3 * MiB) {
    curve.add(capacity);
    const double alone = advise(many_sites(), tiers(capacity), nullptr, Effort::quick).time;
    if (alone > alone_before * (1 + 1e-9)) ++rises;
    alone_before = alone;
  }
  EXPECT_GT(rises, 0) << "the search is better than this test needs";
  for (const auto& [capacity, advice] : curve.points()) {
    EXPECT_LE(advice.time_with_moves(), before * (1 + 1e-9)) << capacity;
    before = advice.time_with_moves();
  }
}

TEST(Curve, EnoughIsTheSmallestThatSavesThePart) {
  CapacityCurve curve(three_sites(), tiers(0), 0);
  curve.add(0);
  curve.add(512 * MiB);
  // grid and table save eleven of fourteen parts.
  const auto enough = curve.enough(0.7, 0);
  ASSERT_TRUE(enough);
  EXPECT_GE(*enough, 96 * MiB);
  EXPECT_LE(*enough, 98 * MiB);
  EXPECT_EQ(curve.enough(0.7, 256 * MiB), 256 * MiB);
  Workload idle = three_sites();
  for (SiteDemand& demand : idle.sites)
    demand.demand = {};
  idle.rest = 1e9;
  CapacityCurve flat(idle, tiers(0), 0);
  flat.add(0);
  flat.add(512 * MiB);
  EXPECT_FALSE(flat.enough(0.95, 0));
}

std::size_t home_of_table(std::uint64_t dram, double factor = 1) {
  return advise(with_demand(three_sites(), 1, factor), tiers(dram)).placement.tier_of_site[1];
}

TEST(Decision, MoreRoomBringsASiteInAndBothSidesWereTried) {
  const Decision decision = decide_about(three_sites(), tiers(64 * MiB), 1);
  EXPECT_EQ(decision.home, 1u); // NVM
  ASSERT_EQ(decision.capacities.size(), 1u);
  const OtherCapacity& other = decision.capacities[0];
  EXPECT_EQ(other.tier, 0u);
  EXPECT_EQ(other.goes_to, 0u);
  EXPECT_GE(other.capacity, 96 * MiB);
  EXPECT_LE(other.capacity, 98 * MiB);
  EXPECT_EQ(home_of_table(other.capacity), 0u);
  EXPECT_EQ(home_of_table(other.other_side), 1u);
  ASSERT_TRUE(decision.importance); // from 4.5 times on a byte of it is worth more than of grid
  EXPECT_EQ(home_of_table(64 * MiB, decision.importance->factor), 0u);
  EXPECT_EQ(home_of_table(64 * MiB, decision.importance->factor / 1.1), 1u);
}

TEST(Decision, LessRoomPutsASiteOut) {
  const Decision decision = decide_about(three_sites(), tiers(64 * MiB), 0);
  EXPECT_EQ(decision.home, 0u);
  EXPECT_EQ(decision.runner_up, 1u);
  EXPECT_GT(decision.in_tier[1].price.low, 0);
  EXPECT_EQ(decision.in_tier[0].price.value, 0);
  ASSERT_EQ(decision.capacities.size(), 1u);
  EXPECT_LT(decision.capacities[0].capacity, 64 * MiB);
  EXPECT_GT(decision.capacities[0].capacity, 62 * MiB);
  EXPECT_EQ(decision.capacities[0].goes_to, 1u);
}

TEST(Decision, WhatIsFasterWhereItIsStaysWithAnyCapacity) {
  std::vector<TierChoice> kinds = tiers(64 * MiB);
  std::swap(kinds[0].figures, kinds[1].figures); // the first is slower
  const Decision decision = decide_about(three_sites(), kinds, 0);
  EXPECT_EQ(decision.home, 1u);
  EXPECT_TRUE(decision.capacities.empty());
  EXPECT_EQ(decision.never, std::vector<std::size_t>{0});
  EXPECT_FALSE(decision.importance);
}

TEST(Decision, WithoutRoomInAKindThereIsNoPrice) {
  const Decision decision = decide_about(three_sites(), tiers(64 * MiB), 2);
  EXPECT_FALSE(decision.in_tier[0].has_room);
  EXPECT_FALSE(decision.runner_up);
}

TEST(Alternatives, SayWhatTheNextBestMemoryIsWorthAndWhatFits) {
  const std::vector<std::string> texts = alternatives(advise(three_sites(), tiers(80 * MiB)));
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_NE(texts[0].find("in NVM, the program would take"), std::string::npos) << texts[0];
  EXPECT_NE(texts[1].find("DRAM would save"), std::string::npos) << texts[1];
  EXPECT_NE(texts[1].find("has room for 50 % of it"), std::string::npos) << texts[1];
  for (const std::string& text : texts)
    EXPECT_TRUE(text.starts_with("moved alone: ")) << text;
  EXPECT_EQ(alternatives(advise(three_sites(), tiers(64 * MiB)))[1], "") << "grid leaves no room";
  Workload kept = three_sites();
  kept.sites[1].kept = 1;
  EXPECT_EQ(alternatives(advise(kept, tiers(80 * MiB)))[1], "");
}

TEST(Alternatives, OnlyWhatSavesLittleIsLeftForThat) {
  Workload workload = three_sites();
  const auto in_nvm = [&](double rest) {
    workload.rest = rest;
    Advice advice = advise(workload, tiers(512 * MiB));
    advice.placement.tier_of_site.assign(3, 1); // as a strategy may
    advice.time = predicted_time(workload, advice.tiers, advice.placement.tier_of_site) + rest;
    return alternatives(advice)[1];
  };
  EXPECT_TRUE(in_nvm(0).ends_with(" of the time and has room")) << in_nvm(0);
  EXPECT_TRUE(in_nvm(1e11).ends_with("plans do not change for so little")) << in_nvm(1e11);
}

TEST(Gain, SaysWhetherTheSlowestMemoryCouldHoldAll) {
  EXPECT_TRUE(slowest_has_room(advise(three_sites(), tiers(64 * MiB))));
  std::vector<TierChoice> kinds = tiers(64 * MiB);
  kinds[1].capacity = 200 * MiB;
  EXPECT_FALSE(slowest_has_room(advise(three_sites(), kinds)));
  Workload in_turn = three_sites();
  in_turn.sites[2].live = {{1000, 2000, 128 * MiB}};
  EXPECT_TRUE(slowest_has_room(advise(in_turn, kinds)));
}

TEST(ShownSize, IsWhatIsPrintedAndNeverLess) {
  for (const std::uint64_t bytes : {0ul, 1ul, 1023ul, 1024ul, 1025ul, 1047553ul, 64 * MiB,
                                    64 * MiB + 1, 1023 * MiB + 5, 1ul << 40}) {
    const std::uint64_t shown = shown_size(bytes);
    EXPECT_GE(shown, bytes);
    EXPECT_LE(static_cast<double>(shown), 1.011 * static_cast<double>(bytes) + 1) << bytes;
    EXPECT_EQ(*parse_size(size_option(shown)), shown) << bytes;
  }
  EXPECT_EQ(size_option(64 * MiB), "64.0M");
}

TEST(NamedSite, ExactlyThenByTheFirstWordThenByAnyPart) {
  const std::vector<std::string> labels = {"grid (a.c:1)", "grid_old (a.c:2)", "list (b.c:12)",
                                           "list (b.c:123)"};
  EXPECT_EQ(*site_named(labels, "grid"), 0u);
  EXPECT_EQ(*site_named(labels, "old"), 1u);
  EXPECT_EQ(*site_named(labels, "b.c:123"), 3u);
  EXPECT_EQ(*site_named(labels, "list (b.c:12)"), 2u);
  EXPECT_NE(
      site_named(labels, "list").error().find("may be list (b.c:12); list (b.c:123); write more"),
      std::string::npos);
  EXPECT_NE(site_named(labels, "girds").error().find("there are: "), std::string::npos);
  EXPECT_NE(site_named(labels, "oldest").error().find("there are: grid_old"), std::string::npos);
  EXPECT_TRUE(site_named({"a", "b", "c", "d", "e"}, "x").error().ends_with("and 1 more"));
  EXPECT_EQ(*site_named(labels, "list (b.c:12), 75 % of it in 32 ranges"), 2u);
  EXPECT_EQ(*site_named(labels, "grid_old (a.c:2), bytes 8.00 MiB to 120 MiB"), 1u);
  EXPECT_EQ(*site_named(labels, "list (b.c:12), blocks 3, 5, 7 to 9"), 2u);
  EXPECT_EQ(*site_named(labels, "list (b.c:12), 69 % of its blocks"), 2u);
  EXPECT_EQ(*site_named(labels, "GRID"), 0u);
  EXPECT_EQ(*site_named(labels, "B.C:123"), 3u);
  EXPECT_FALSE(site_named(labels, ""));
  EXPECT_FALSE(site_named({}, "x"));
}

} // namespace
} // namespace omptier
