// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is accessed how often, and read or written, from samples of time that were blamed on loads
// alone: loops of one profile whose accesses are made by hand.
#include "analysis_summary.hpp"
#include "analysis_text.hpp"

#include "advisor/evidence.hpp"
#include "advisor/explain.hpp"
#include "advisor/traits_source.hpp"
#include "analysis/access_shares.hpp"
#include "cli/report_text.hpp"

#include <gtest/gtest.h>

using namespace omptier;

namespace {

constexpr double k_sample = 10e6; // nanoseconds

constexpr std::int64_t k_stays = 1; // a stride: the same place, but for a step in fifty

// What a loop does to one array with 8 bytes an access; stride 0: in no order.
struct Use {
  std::uint32_t site;
  double read, written; // parts of the loop's bytes
  std::int64_t stride;
  bool tested = false; // what is read may also be written
};
struct SampledLoop {
  std::uint64_t head;
  unsigned samples;
  std::vector<Use> uses;
  float pace = 0; // bytes a nanosecond; 0: no pairs of samples
};

AccessPattern pattern_of(const SampledLoop& loop, const Use& use, AccessKind kind, unsigned i) {
  AccessPattern pattern;
  pattern.pc = loop.head + use.site + 2;
  pattern.kind = use.tested ? AccessKind::unknown : kind;
  pattern.bytes =
      static_cast<float>((kind == AccessKind::load ? use.read : use.written) * k_sample);
  pattern.accesses = pattern.bytes / 8;
  pattern.strides[0] = {use.stride, 1};
  if (use.stride == 0) pattern.strides[0] = {8 * (1 + i * 7919 % 1000), 0.1f};
  if (use.stride == k_stays) pattern.strides = {{{0, 0.98f}, {8, 0.02f}}};
  pattern.loop = loop.head;
  if (loop.pace > 0) {
    pattern.run_nanoseconds = 1e5f * static_cast<float>(1 + i % 50);
    pattern.run_bytes = pattern.run_nanoseconds * loop.pace;
  }
  return pattern;
}

// Arrays of 64 MB, the first of a kind, and loops one after the other. All time is blamed on loads.
ProfileSummary summary_of_loops(std::uint32_t arrays, const std::vector<SampledLoop>& loops,
                                SiteKind of_first = SiteKind::allocation) {
  Profile profile = profile_of_arrays(arrays);
  profile.sites[0].kind = of_first;
  for (const SampledLoop& loop : loops)
    for (unsigned i = 0; i < loop.samples; ++i) {
      LoggedSample sample;
      sample.time = profile.last_time += static_cast<std::uint64_t>(k_sample);
      sample.pc = loop.head + 1;
      sample.address = profile.objects[loop.uses[0].site].address + 64 * i;
      sample.kind = AccessKind::load;
      sample.weight = static_cast<float>(k_sample);
      sample.first_pattern = static_cast<std::uint32_t>(profile.patterns.size());
      for (const Use& use : loop.uses)
        for (const AccessKind kind : {AccessKind::load, AccessKind::store}) {
          AccessPattern pattern = pattern_of(loop, use, kind, i);
          if (pattern.bytes == 0) continue;
          pattern.time = sample.time;
          pattern.address = profile.objects[use.site].address + 64 * i;
          profile.patterns.push_back({pattern, {}, {}});
          ++sample.patterns;
        }
      profile.samples.push_back(sample);
    }
  return summary_of(profile);
}

Workload workload_of(const ProfileSummary& summary) {
  const ProfileNames names = made_up_names(summary);
  return workload_from(summary, {names.sites, names.regions}, {80, 80, 100e9, 100e9});
}

std::string traits_of(const ProfileSummary& summary) {
  return traits_as_c(workload_of(summary).sites[0], MemoryKind::dram, "array");
}

std::string reason_of(const ProfileSummary& summary) {
  const Workload workload = workload_of(summary);
  return reason_for(workload, {{MemoryKind::dram, 1 << 30, {}}}, {{1.0}}, 0, 0,
                    all_peaks(workload));
}

// updated[i] += 1: only its load waits.
TEST(Accesses, WhatIsUpdatedIsReadAndWrittenEverywhere) {
  const ProfileSummary summary = summary_of_loops(1, {{0x1000, 100, {{0, 0.5, 0.5, 8}}, 4.0f}});
  EXPECT_DOUBLE_EQ(summary.sites[0].write_share.value, 0.5);
  EXPECT_NE(text_of(summary).find(" 50/50 "), std::string::npos) << text_of(summary);
  const AccessWeights& weights = summary.sites[0].accesses;
  EXPECT_NEAR(weights.streamed_load, weights.streamed_store, 1);
  EXPECT_EQ(weights.scattered_load + weights.scattered_store + weights.unknown, 0);
  EXPECT_NE(reason_of(summary).find("mostly streamed loads and stores"), std::string::npos)
      << reason_of(summary);
  EXPECT_NE(traits_of(summary).find("access_mode_read_write"), std::string::npos);
  EXPECT_NE(traits_of(summary).find("pattern_sequential"), std::string::npos);
}

// Samples whose loop nobody could look at: blame alone tells neither manner nor direction.
TEST(Accesses, WhatWasNotSeenIsNotSaid) {
  const ProfileSummary summary = summary_of_loops(1, {{0x1000, 100, {{0, 0, 0, 8}}}});
  EXPECT_EQ(summary.sites[0].accesses.unknown, summary.sites[0].accesses.total());
  EXPECT_EQ(text_of(summary).find("100/0"), std::string::npos) << text_of(summary);
  EXPECT_EQ(traits_of(summary).find("access_mode"), std::string::npos) << traits_of(summary);
  EXPECT_EQ(traits_of(summary).find("access_pattern"), std::string::npos) << traits_of(summary);
  EXPECT_EQ(reason_of(summary).find("loads"), std::string::npos) << reason_of(summary);
}

// A loop that fills the array was followed, the one that takes its time was not.
TEST(Accesses, WhatWasSeenInOtherLoopsIsNotSaidOfTheTime) {
  const ProfileSummary strange =
      summary_of_loops(1, {{0x1000, 6, {{0, 0, 1, 8}}}, {0x9000, 94, {{0, 0, 0, 8}}}});
  EXPECT_EQ(strange.sites[0].pattern.kind, PatternKind::unknown);
  EXPECT_FALSE(strange.sites[0].knows_writes());
  EXPECT_EQ(traits_of(strange).find("access_"), std::string::npos) << traits_of(strange);
  // Beside instructions of the same loop that were followed, it is said.
  const ProfileSummary same =
      summary_of_loops(1, {{0x1000, 6, {{0, 0.5, 0.5, 8}}}, {0x1040, 94, {{0, 0, 0, 8}}}});
  EXPECT_EQ(same.sites[0].pattern.kind, PatternKind::sequential);
  EXPECT_NE(traits_of(same).find("pattern_sequential"), std::string::npos) << traits_of(same);
}

// if (level[u] < 0) level[u] = 1: nobody saw whether the store was done.
TEST(Accesses, WhatHangsOnATestOfItselfIsNotReadOnly) {
  const auto knows = [](bool tested) {
    return summary_of_loops(1, {{0x1000, 1000, {{0, 1, 0, 8, tested}}, 4.0f}})
        .sites[0]
        .knows_writes();
  };
  EXPECT_TRUE(knows(false));
  EXPECT_FALSE(knows(true));
}

// sum[i] += …, with the sum in memory: the stack's places are no array that somebody walks through.
TEST(Accesses, SpilledRegistersHaveNoPattern) {
  const auto pattern = [](std::int64_t stride, SiteKind kind) {
    const ProfileSummary summary =
        summary_of_loops(1, {{0x1000, 100, {{0, 0.5, 0.5, stride}}}}, kind);
    return summary.sites[0].pattern.kind;
  };
  EXPECT_EQ(pattern(k_stays, SiteKind::stacks), PatternKind::unknown);
  EXPECT_EQ(pattern(k_stays, SiteKind::allocation), PatternKind::sequential);
  EXPECT_EQ(pattern(8, SiteKind::stacks), PatternKind::sequential); // a local array
}

// The pace is known of the loop that array 0 shares with array 1, whose own pairs are too few.
TEST(Accesses, WhatALoopAccessesTogetherHasOneSpeed) {
  Profile profile = profile_of_arrays(2);
  for (unsigned i = 0; i < 60; ++i) {
    LoggedSample sample;
    sample.time = profile.last_time += static_cast<std::uint64_t>(k_sample);
    sample.pc = 0x1001;
    sample.address = profile.objects[0].address + 64 * i;
    sample.weight = static_cast<float>(k_sample);
    sample.first_pattern = static_cast<std::uint32_t>(profile.patterns.size());
    for (std::uint32_t site = 0; site < 2; ++site) {
      AccessPattern pattern = pattern_of({0x1000, 60, {}, site == 0 || i < 4 ? 16.0f : 0.0f},
                                         {site, 0.5, 0, 8}, AccessKind::load, i);
      pattern.time = sample.time;
      pattern.address = profile.objects[site].address + 64 * i;
      profile.patterns.push_back({pattern, {}, {}});
      ++sample.patterns;
    }
    profile.samples.push_back(sample);
  }
  const ProfileSummary summary = summary_of(profile);
  EXPECT_NEAR(summary.sites[0].access_share.value, 0.5, 0.01);
  EXPECT_NEAR(summary.sites[1].access_share.value, 0.5, 0.01);
}

// Stores take no time of their own: the traits are of accesses, as the table is.
TEST(Accesses, ModeIsThatOfTheAccessesNotOfTheTime) {
  // Scattered loads take the time; as many bytes are stored by a stream.
  const ProfileSummary summary = summary_of_loops(
      1, {{0x1000, 90, {{0, 1, 0, 0}}, 2.0f}, {0x2000, 10, {{0, 0, 1, 8}}, 9.0f}});
  EXPECT_NEAR(summary.sites[0].write_share.value, 1.0 / 3, 0.02);
  EXPECT_EQ(traits_of(summary).find("read_only"), std::string::npos) << traits_of(summary);
}

TEST(Accesses, FewLoopsThatDifferLeaveTheWriteShareOpen) {
  const ProfileSummary few =
      summary_of_loops(1, {{0x1000, 3, {{0, 1, 0, 8}}}, {0x2000, 3, {{0, 0, 1, 8}}}});
  EXPECT_FALSE(few.sites[0].knows_writes());
  EXPECT_EQ(text_of(few).find(" 50/50 "), std::string::npos) << text_of(few);
  EXPECT_EQ(traits_of(few).find("access_mode"), std::string::npos);
  EXPECT_EQ(written_share({}).low, 0);
  EXPECT_EQ(written_share({}).high, 1);
  const std::vector<SiteInLoop> alike(50, SiteInLoop{0, 0, 0, 100, 25});
  EXPECT_DOUBLE_EQ(written_share(alike).value, 0.25);
  EXPECT_LT(written_share(alike).high, 0.28);
  EXPECT_GT(written_share(alike).low, 0.22);
}

// One array is summed, the other accessed at random, for equal times: by time each would have half.
TEST(Accesses, LoopsCountByTheirSpeedNotByTheirTime) {
  const ProfileSummary summary =
      summary_of_loops(2, {{0x1000, 100, {{0, 1, 0, 8}}}, {0x2000, 100, {{1, 1, 0, 0}}}});
  const Share summed = site_at(summary, 0).access_share;
  EXPECT_GT(summed.value, 0.8);
  EXPECT_LT(summed.low, 0.9);
  EXPECT_GT(summed.high, 0.95);
}

// Around the part of the time that has a pace at which the weights of loops once changed.
TEST(Accesses, NothingJumpsWhereAlmostAllPacesAreKnown) {
  const auto share = [](unsigned unknown) {
    return site_at(summary_of_loops(3, {{0x1000, 100, {{0, 1, 0, 8}}, 4.0f},
                                        {0x2000, 100, {{1, 1, 0, 0}}, 0.4f},
                                        {0x3000, unknown, {{2, 1, 0, 0}}}}),
                   1)
        .access_share.value;
  };
  EXPECT_NEAR(share(10), 1.0 / 11, 0.02);
  EXPECT_NEAR(share(11), share(10), 0.005);
}

// A loop of a fortieth of the time that is a hundred times as fast: the rate of the others is a
// lower bound.
TEST(Accesses, ARateIsABoundWhereFastLoopsHaveNoPace) {
  const ProfileSummary summary =
      summary_of_loops(1, {{0x1000, 195, {{0, 1, 0, 0}}, 0.05f}, {0x2000, 5, {{0, 1, 0, 8}}}});
  const AccessRate& rate = summary.sites[0].access_rate;
  EXPECT_GT(rate.value, 0);
  EXPECT_LT(rate.known, 0.95);
  EXPECT_GT(rate.high, 1.5 * rate.value);
}

// An array that is read for a moment was filled before; no sample shows it.
TEST(Accesses, AFillingThatNoSampleSawMayBeMissing) {
  const ProfileSummary seldom = summary_of_loops(1, {{0x1000, 100, {{0, 1, 0, 0}}, 0.05f}});
  EXPECT_FALSE(seldom.sites[0].knows_writes()); // 64 MB beside 50
  EXPECT_GT(seldom.sites[0].access_rate.high, 1.5 * seldom.sites[0].access_rate.value);
  const ProfileSummary often = summary_of_loops(1, {{0x1000, 1000, {{0, 1, 0, 8}}, 4.0f}});
  EXPECT_TRUE(often.sites[0].knows_writes()); // beside 40 GB
  EXPECT_LT(often.sites[0].access_rate.high, 1.3 * often.sites[0].access_rate.value);
}

// Rows without samples: each may have a share of some thousandths, together they have not half.
TEST(Accesses, ManyRowsTogetherAreNoLessCertain) {
  Share sum;
  for (int i = 0; i < 139; ++i)
    sum += {0, 0, 0.0066};
  EXPECT_EQ(sum.value, 0);
  EXPECT_LT(sum.high, 0.01);
  Share four;
  for (int i = 0; i < 4; ++i)
    four += {0.1, 0.07, 0.14};
  EXPECT_NEAR(four.value, 0.4, 1e-9);
  EXPECT_NEAR(four.low, 0.34, 1e-9);
  EXPECT_NEAR(four.high, 0.48, 1e-9);
}

// A report's interval of time is the advice's.
TEST(Accesses, AdviceHasTheReportsInterval) {
  ProfileSummary summary = summary_of_loops(1, {{0x1000, 100, {{0, 1, 0, 8}}}});
  summary.worst_error = 0.25;
  summary.sites[0].share = {0.5, 0.4, 0.6};
  EXPECT_DOUBLE_EQ(workload_of(summary).sites[0].share_low, 0.4);
  EXPECT_DOUBLE_EQ(workload_of(summary).sites[0].share_high, 0.6);
}

} // namespace
