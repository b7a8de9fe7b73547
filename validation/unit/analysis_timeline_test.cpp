// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time lines of runs that are written down as letters: regions of 10 ms each, one behind the other.
#include "analysis/timeline.hpp"
#include "units.hpp"

#include <gtest/gtest.h>

#include <string>

namespace omptier {
namespace {

ProfileSummary run_of(const std::string& letters) {
  ProfileSummary summary;
  summary.regions.resize(128);
  for (const char letter : letters) {
    const auto begin = summary.visits.size() * 10 * k_ms;
    summary.visits.push_back({static_cast<std::uint32_t>(letter), begin, begin + 9 * k_ms});
    RegionSummary& region = summary.regions[static_cast<std::size_t>(letter)];
    ++region.entries;
    region.nanoseconds += 9 * k_ms;
  }
  summary.nanoseconds = letters.size() * 10 * k_ms;
  return summary;
}

// "f 3(ab) c": single visits, and rounds in brackets.
std::string folded(const ProfileSummary& summary) {
  std::string text;
  for (const TimelinePart& part : timeline_of(summary).parts) {
    std::string steps;
    for (const TimelineStep& step : part.steps)
      steps += static_cast<char>(step.region);
    text += (text.empty() ? "" : " ") +
            (part.rounds > 1 ? std::to_string(part.rounds) + "(" + steps + ")" : steps);
  }
  return text;
}

TEST(Timeline, RepeatedSequencesAreRounds) {
  EXPECT_EQ(folded(run_of("")), "");
  EXPECT_EQ(folded(run_of("a")), "a");
  EXPECT_EQ(folded(run_of("abc")), "a b c");
  EXPECT_EQ(folded(run_of("fabababab")), "f 4(ab)");
  EXPECT_EQ(folded(run_of("aaaaaaaa")), "8(a)");
  EXPECT_EQ(folded(run_of("abacabacabac")), "3(abac)");
  EXPECT_EQ(folded(run_of("ababababcdcdcdcdcde")), "4(ab) 5(cd) e");
}

// No sample fell into some visits.
TEST(Timeline, RoundsMayLackVisits) {
  EXPECT_EQ(folded(run_of("abcabcabcacabcabbcabc")), "8(abc)");
  const Timeline timeline = timeline_of(run_of("abcabcabcacabcabcabc"));
  ASSERT_EQ(timeline.parts.size(), 1u);
  EXPECT_EQ(timeline.parts[0].steps[0].seen.count, 7u);
  EXPECT_EQ(timeline.parts[0].steps[1].seen.count, 6u);
}

// Each visit is accounted for once, whatever the sequence.
TEST(Timeline, NothingIsLost) {
  std::uint32_t state = 1;
  for (int round = 0; round < 200; ++round) {
    std::string letters;
    const unsigned kinds = 1 + round % 5;
    for (int i = 0; i < 300; ++i)
      letters += static_cast<char>('a' + (state = state * 1664525 + 1013904223) / 65536 % kinds);
    const ProfileSummary summary = run_of(letters);
    double time = 0, entries = 0;
    std::uint64_t before = 0;
    for (const TimelinePart& part : timeline_of(summary).parts) {
      EXPECT_GE(part.begin, before);
      before = part.end;
      for (const TimelineStep& step : part.steps) {
        entries += step.entries;
        time += step.time;
      }
    }
    EXPECT_NEAR(entries, double(letters.size()), 1e-6);
    EXPECT_NEAR(time, double(letters.size()) * 9 * k_ms, 1);
  }
}

TEST(Timeline, SmallRegionsAreLeftOut) {
  ProfileSummary summary = run_of("abababab");
  for (int i = 1; i < 8; i += 2)
    summary.visits[i].end = summary.visits[i].begin + 1000;
  summary.regions['b'].nanoseconds = 4000;
  const Timeline timeline = timeline_of(summary);
  EXPECT_EQ(timeline.small_regions, 1u);
  EXPECT_DOUBLE_EQ(timeline.in_small_regions, 4000);
  EXPECT_EQ(folded(summary), "4(a)");
}

// Of b's visits, half have a sample; c has none.
TEST(Timeline, WhatIsNotSeenIsSaid) {
  ProfileSummary summary = run_of("abaaabaaab");
  summary.regions['b'].entries = 4;
  summary.regions['b'].nanoseconds = 44 * k_ms;
  summary.regions['c'].entries = 1;
  summary.regions['c'].nanoseconds = 20 * k_ms;
  Timeline timeline = timeline_of(summary);
  EXPECT_TRUE(timeline.is_folded); // three of four are enough
  EXPECT_EQ(timeline.unseen, std::vector<std::uint32_t>{'c'});
  double entries = 0, time = 0;
  for (const TimelinePart& part : timeline.parts)
    for (const TimelineStep& step : part.steps)
      if (step.region == 'b') {
        entries += step.entries;
        time += step.time;
      }
  EXPECT_NEAR(entries, 4, 1e-9);
  EXPECT_NEAR(time, 44e6, 1);

  summary.regions['b'].entries = 7;
  timeline = timeline_of(summary);
  EXPECT_FALSE(timeline.is_folded);
  ASSERT_EQ(timeline.parts.size(), 2u);
  EXPECT_EQ(timeline.parts[0].steps[0].region, std::uint32_t{'a'});
  EXPECT_NEAR(timeline.parts[1].steps[0].entries, 7, 1e-9);
  EXPECT_NEAR(timeline.seen, 10 / 14.0, 1e-9);
}

// Site 7 is brought for each b but in the third round, and away for a.
TEST(Timeline, WhatMovesSave) {
  ProfileSummary summary = run_of("abababab");
  for (const std::size_t b : {1u, 3u, 7u})
    summary.visits[b].end -= 4 * k_ms;
  const auto move = [&](std::size_t visit, MemoryKind from, MemoryKind to) {
    MoveSummary& made = summary.moves.emplace_back();
    made.site = 7;
    made.region = summary.visits[visit].region;
    made.begin = summary.visits[visit].begin - 1;
    made.bytes = 100;
    made.from = from;
    made.to = to;
    made.seconds = 1e-3;
  };
  for (const std::size_t b : {1u, 3u, 7u}) {
    move(b, MemoryKind::nvm, MemoryKind::dram);
    if (b + 1 < 8) move(b + 1, MemoryKind::dram, MemoryKind::nvm);
  }
  const Timeline timeline = timeline_of(summary);
  ASSERT_EQ(timeline.parts.size(), 1u);
  const TimelineStep& step = timeline.parts[0].steps[1];
  EXPECT_EQ(step.moves, 3u);
  EXPECT_EQ(step.bytes, 300u);
  EXPECT_DOUBLE_EQ(step.moving, 3e6);
  EXPECT_EQ(step.in_place.count, 3u);
  EXPECT_DOUBLE_EQ(step.in_place.mean(), 5e6);
  EXPECT_EQ(step.away.count, 1u);
  EXPECT_DOUBLE_EQ(step.away.mean(), 9e6);
}

// Moves at barriers are within the visit that they are for, and say nothing of where memory lay in
// it as a whole.
TEST(Timeline, MovesAtBarriersAreOfTheVisitAroundThem) {
  ProfileSummary summary = run_of("ababab");
  for (std::size_t visit = 0; visit < summary.visits.size(); ++visit) {
    if (summary.visits[visit].region != 'b') continue;
    MoveSummary& made = summary.moves.emplace_back();
    made.site = 7;
    made.region = 'b';
    made.at_barrier = true;
    made.begin = summary.visits[visit].begin + 1;
    made.seconds = 1e-3;
  }
  const Timeline timeline = timeline_of(summary);
  ASSERT_EQ(timeline.parts.size(), 1u);
  const TimelineStep& step = timeline.parts[0].steps[1];
  EXPECT_EQ(step.moves, 3u);
  EXPECT_EQ(step.at_barriers, 3u);
  EXPECT_DOUBLE_EQ(step.moving, 3e6);
  EXPECT_EQ(step.in_place.count + step.away.count, 0u);
  EXPECT_EQ(timeline.parts[0].steps[0].moves, 0u);
}

// Memory may move for the next visit while one still runs in which it moves at barriers.
TEST(Timeline, MovesForTheNextVisitWhileThisOneRuns) {
  ProfileSummary summary = run_of("ababab");
  for (std::size_t visit = 0; visit + 1 < summary.visits.size(); visit += 2) {
    const std::uint64_t begin = summary.visits[visit].begin;
    const auto add = [&](char region, bool at_barrier, std::uint64_t at) {
      MoveSummary& made = summary.moves.emplace_back();
      made.site = 7;
      made.region = static_cast<std::uint32_t>(region);
      made.to = region == 'b' ? MemoryKind::hbm : MemoryKind::dram;
      made.from = region == 'b' ? MemoryKind::dram : MemoryKind::hbm;
      made.at_barrier = at_barrier;
      made.begin = at;
    };
    add('a', true, begin + 1);
    add('b', false, begin + 2);
    add('a', true, begin + 3);
  }
  const Timeline timeline = timeline_of(summary);
  ASSERT_EQ(timeline.parts.size(), 1u);
  const TimelineStep &a = timeline.parts[0].steps[0], &b = timeline.parts[0].steps[1];
  EXPECT_EQ(a.moves, 6u);
  EXPECT_EQ(a.at_barriers, 6u);
  EXPECT_EQ(b.moves, 3u);
  EXPECT_EQ(b.at_barriers, 0u);
  EXPECT_EQ(b.in_place.count, 0u) << "it was taken away again";
  EXPECT_EQ(b.away.count, 3u);
}

} // namespace
} // namespace omptier
