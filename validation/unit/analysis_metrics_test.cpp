// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Metrics from samples whose truth is known: shares, intervals that hold the truth, manners,
// regions, lifetimes, joined profiles.
#include "analysis_summary.hpp"
#include "units.hpp"

#include "analysis/ranks.hpp"
#include "analysis/share_intervals.hpp"
#include "objects/live.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace omptier;

namespace {

// A profile made by hand: sites are numbered, each with one frame at offset 16 * number.
class Made {
public:
  explicit Made(unsigned sites) {
    profile.file = "made";
    profile.run.measure = Measure::misses;
    profile.run.start_time = k_second;
    ModuleInfo module;
    module.identity = "build-id:aa";
    module.name = "app";
    profile.modules.push_back(module);
    for (unsigned i = 0; i < sites; ++i)
      profile.sites.push_back({i, {{0, 16 * i}}});
    instances_.assign(sites, 0);
  }
  std::size_t object(std::uint32_t site, std::uint64_t time, std::uint64_t address,
                     std::uint64_t bytes, std::uint64_t released = ObjectRecord::k_never) {
    ObjectRecord object;
    object.time = time;
    object.object = profile.objects.size();
    object.address = address;
    object.bytes = bytes;
    object.site = site;
    object.instance = instances_[site]++;
    object.released = released;
    profile.objects.push_back(object);
    return object.object;
  }
  void sample(std::uint64_t time, std::uint64_t address, AccessKind kind = AccessKind::load,
              bool streamed = false, float weight = 1, float latency = 0) {
    LoggedSample sample;
    sample.time = time;
    sample.address = address;
    sample.kind = kind;
    sample.streamed = streamed;
    sample.weight = weight;
    sample.latency = latency;
    profile.samples.push_back(sample);
    profile.last_time = std::max(profile.last_time, time);
  }
  void region(std::uint32_t region, std::uint64_t time, bool begin, std::uint32_t thread = 1) {
    while (profile.region_definitions.size() <= region)
      profile.region_definitions.push_back(
          {static_cast<std::uint32_t>(profile.region_definitions.size()),
           {{0, 4096 + profile.region_definitions.size()}}});
    RegionRecord record;
    record.time = time;
    record.region = region;
    record.begin = begin;
    record.threads = begin ? 4 : 0;
    record.thread = thread;
    profile.regions.push_back(record);
    profile.last_time = std::max(profile.last_time, time);
  }
  Profile profile;

private:
  std::vector<std::uint32_t> instances_;
};

} // namespace

TEST(Moves, NameObjectAndRegion) {
  Made made(2);
  made.object(0, k_second, 1 << 20, 4096);
  made.object(1, k_second, 2 << 20, 4096, k_second + 500); // another one takes its place
  made.object(0, k_second + 600, 2 << 20, 4096);
  made.region(0, k_second + 100, true);
  made.region(0, k_second + 200, false);
  made.region(1, k_second + 800, true);
  made.region(1, k_second + 900, false);
  for (int i = 0; i < 3; ++i) // the second site comes first in the summary
    made.sample(k_second + 150, (2 << 20) + 8);
  const auto move = [&](std::uint64_t at, std::uint64_t address) {
    MoveRecord record;
    record.time = k_second + at; // when it ended
    record.address = address;
    record.bytes = 4096;
    record.from = MemoryKind::dram;
    record.to = MemoryKind::nvm;
    record.seconds = 40e-9;
    made.profile.moves.push_back(record);
  };
  move(90, 2 << 20);
  move(700, 2 << 20);
  move(950, 3 << 20);
  const ProfileSummary summary = summary_of(made.profile);
  ASSERT_EQ(summary.moves.size(), 3u);
  EXPECT_EQ(summary.moves[0].begin, 50u);
  EXPECT_EQ(summary.moves[0].bytes, 4096u);
  ASSERT_LT(summary.moves[0].site, 2u);
  EXPECT_EQ(summary.sites[summary.moves[0].site].frames[0].offset, 16u);
  EXPECT_EQ(summary.regions[summary.moves[0].region].frames[0].offset, 4096u);
  ASSERT_LT(summary.moves[1].site, 2u);
  EXPECT_EQ(summary.sites[summary.moves[1].site].frames[0].offset, 0u);
  EXPECT_EQ(summary.regions[summary.moves[1].region].frames[0].offset, 4097u);
  EXPECT_EQ(summary.moves[2].site, MoveSummary::k_no_site); // no object there
  EXPECT_EQ(summary.moves[2].region, 0u);                   // and no region followed
}

TEST(Live, OverlapsEndTheOlderObject) {
  LiveMap live;
  EXPECT_TRUE(live.insert(1000, 100, 1).empty());
  EXPECT_TRUE(live.insert(1100, 100, 2).empty());
  EXPECT_TRUE(live.insert(1200, 0, 3).empty());
  EXPECT_EQ(live.find(1099), 1u);
  EXPECT_EQ(live.find(1100), 2u);
  EXPECT_EQ(live.find(1200), 3u);
  EXPECT_FALSE(live.find(1201));
  EXPECT_FALSE(live.find(999));
  EXPECT_EQ(live.insert(1050, 100, 4), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(live.find(1149), 4u);
  EXPECT_FALSE(live.find(1150));
  EXPECT_FALSE(live.erase(1100));
  EXPECT_EQ(live.erase(1050), 4u);
  EXPECT_EQ(live.size(), 1u);
  live.insert(~std::uint64_t{0} - 5, 100, 9);
  EXPECT_EQ(live.find(~std::uint64_t{0} - 1), 9u);
  EXPECT_TRUE(live.is_consistent());
}

TEST(Live, InnermostLayerFirst) {
  LiveMap live;
  live.insert(1000, 1000, 1, Layer::heap);
  live.insert(1100, 500, 2, Layer::small_objects);
  EXPECT_TRUE(live.insert(1200, 100, 3).empty());
  EXPECT_EQ(live.find(1050), 1u);
  EXPECT_EQ(live.find(1150), 2u);
  EXPECT_EQ(live.find(1250), 3u);
  EXPECT_EQ(live.find(1650), 1u);
  EXPECT_FALSE(live.erase(1200, Layer::heap));
  EXPECT_FALSE(live.erase(1200, Layer::blocks, 4)); // another one has its place
  EXPECT_EQ(live.erase(1200, Layer::blocks, 3), 3u);
  EXPECT_EQ(live.find(1250), 2u);
  EXPECT_TRUE(live.is_consistent());
}

TEST(Metrics, SharesMannersAndOther) {
  Made made(2);
  made.object(0, k_second, 0x10000, 0x1000);
  made.object(1, k_second, 0x20000, 0x2000);
  for (unsigned i = 0; i < 60; ++i)
    made.sample(2 * k_second + i, 0x10000 + i, AccessKind::load);
  for (unsigned i = 0; i < 20; ++i)
    made.sample(3 * k_second + i, 0x20000 + i, AccessKind::store, true);
  for (unsigned i = 0; i < 10; ++i)
    made.sample(4 * k_second + i, 0x90000);
  for (unsigned i = 0; i < 10; ++i)
    made.sample(5 * k_second + i, 0);
  const ProfileSummary summary = summary_of(made.profile);
  EXPECT_EQ(summary.samples, 100u);
  EXPECT_EQ(summary.unknown_address, 10u);
  EXPECT_EQ(summary.outside_objects, 10u);
  EXPECT_DOUBLE_EQ(summary.other.share.value, 0.2);
  ASSERT_EQ(summary.sites.size(), 2u);
  EXPECT_EQ(summary.sites[0].frames[0].offset, 0u); // largest share first
  EXPECT_DOUBLE_EQ(summary.sites[0].share.value, 0.6);
  EXPECT_DOUBLE_EQ(summary.sites[0].accesses.scattered_load, 60);
  EXPECT_DOUBLE_EQ(summary.sites[1].share.value, 0.2);
  EXPECT_DOUBLE_EQ(summary.sites[1].accesses.streamed_store, 20);
  EXPECT_EQ(summary.sites[1].bytes_peak, 0x2000u);
}

TEST(Metrics, WeightsCountNotSamples) {
  Made made(2);
  made.object(0, k_second, 0x10000, 16);
  made.object(1, k_second, 0x20000, 16);
  for (unsigned i = 0; i < 10; ++i) {
    made.sample(2 * k_second + 2 * i, 0x10000, AccessKind::load, false, 3, 100);
    made.sample(2 * k_second + 2 * i + 1, 0x20000, AccessKind::load, false, 1, 200);
  }
  const ProfileSummary summary = summary_of(made.profile);
  EXPECT_DOUBLE_EQ(site_at(summary, 0).share.value, 0.75);
  EXPECT_DOUBLE_EQ(site_at(summary, 0).mean_latency, 100);
  EXPECT_DOUBLE_EQ(site_at(summary, 16).mean_latency, 200);
}

TEST(Metrics, IntervalsOfTimeHoldTheSourcesErrorToo) {
  const auto share = [](Measure measure, double worst_error) {
    Made made(2);
    made.profile.run.measure = measure;
    made.profile.run.worst_error = worst_error;
    made.object(0, k_second, 0x10000, 16);
    made.object(1, k_second, 0x20000, 16);
    for (unsigned i = 0; i < 4000; ++i)
      made.sample(2 * k_second + i, i % 2 ? 0x10000 : 0x20000);
    return site_at(summary_of(made.profile), 0).share;
  };
  const Share plain = share(Measure::time, 0), biased = share(Measure::time, 0.24);
  EXPECT_NEAR(plain.value, 0.5, 1e-9);
  EXPECT_NEAR(biased.high - plain.high, 0.1, 1e-9);
  EXPECT_NEAR(plain.low - biased.low, 0.1, 1e-9);
  EXPECT_DOUBLE_EQ(share(Measure::misses, 0.24).high, plain.high); // every record is a miss
}

// Counts of events say of each what served it.
TEST(Metrics, WhatServedSamples) {
  Made made(1);
  made.object(0, k_second, 0x10000, 0x1000);
  using enum AccessLevel;
  for (const AccessLevel level : {unknown, unknown, cache, cache, memory, memory, cache}) {
    made.sample(k_second + 1 + made.profile.samples.size(), 0x10008);
    made.profile.samples.back().level = level;
  }
  const ProfileSummary summary = summary_of(made.profile);
  const SiteSummary& site = summary.sites[0];
  EXPECT_DOUBLE_EQ(site.accesses.from_cache, 3);
  EXPECT_DOUBLE_EQ(site.accesses.from_memory, 2);
  EXPECT_DOUBLE_EQ(site.cache.value, 3.0 / 5);
  EXPECT_DOUBLE_EQ(site.level_share, 5.0 / 7);
  EXPECT_DOUBLE_EQ(site.by_region[0].accesses.from_cache, 3);
}

TEST(Metrics, SamplesGoToWhoeverLivesThere) {
  Made made(3);
  made.object(0, 1 * k_second, 0x10000, 4096, 2 * k_second);
  made.object(1, 3 * k_second, 0x10000, 8192, 5 * k_second);
  made.object(2, 5 * k_second, 0x10000, 64); // at the very moment the other ends
  made.sample(k_second + 1, 0x10010);
  made.sample(2 * k_second + 500, 0x10010); // nobody's
  made.sample(4 * k_second, 0x10010);
  made.sample(4 * k_second + 1, 0x11010);
  made.sample(6 * k_second, 0x10010);
  made.sample(6 * k_second, 0x11010); // nobody's any more
  const ProfileSummary summary = summary_of(made.profile);
  EXPECT_EQ(site_at(summary, 0).samples, 1u);
  EXPECT_EQ(site_at(summary, 16).samples, 2u);
  EXPECT_EQ(site_at(summary, 32).samples, 1u);
  EXPECT_EQ(summary.outside_objects, 2u);
}

TEST(Metrics, LiveBytesOverTime) {
  Made made(1);
  made.object(0, 2 * k_second, 0x10000, 100, 5 * k_second);
  made.object(0, 3 * k_second, 0x20000, 200, 4 * k_second);
  made.object(0, 6 * k_second, 0x30000, 50);
  made.sample(7 * k_second, 0x30000);
  const ProfileSummary summary = summary_of(made.profile);
  const SiteSummary& site = summary.sites[0];
  EXPECT_EQ(site.objects, 3u);
  EXPECT_EQ(site.bytes_total, 350u);
  EXPECT_EQ(site.bytes_peak, 300u);
  EXPECT_EQ(site.bytes_largest, 200u);
  const std::vector<LiveStep> expected = {{1 * k_second, 100},
                                          {2 * k_second, 300},
                                          {3 * k_second, 100},
                                          {4 * k_second, 0},
                                          {5 * k_second, 50}};
  ASSERT_EQ(site.live.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(site.live[i].time, expected[i].time) << i;
    EXPECT_EQ(site.live[i].bytes, expected[i].bytes) << i;
  }
  ASSERT_EQ(site.instances.size(), 3u);
  EXPECT_EQ(site.instances[2].instance, 2u);
  EXPECT_DOUBLE_EQ(site.instances[2].weight, 1);
}

TEST(Metrics, RegionsSplitTheSamples) {
  Made made(2);
  made.object(0, k_second, 0x10000, 4096);
  made.object(1, k_second, 0x20000, 4096);
  made.sample(k_second + 5, 0x10000); // outside
  for (std::uint64_t visit = 0; visit < 4; ++visit) {
    const std::uint64_t t = (2 + 10 * visit) * k_second;
    made.region(0, t, true);
    for (unsigned i = 0; i < 8; ++i)
      made.sample(t + 1 + i, 0x10000);
    made.sample(t + 20, 0x20000);
    made.region(0, t + k_second, false);
    made.region(0, t + 2 * k_second, true); // again: not anew
    made.region(0, t + 3 * k_second, false);
    made.region(1, t + 4 * k_second, true);
    made.region(2, t + 4 * k_second + 10, true, 2); // nested: belongs to the outer one
    for (unsigned i = 0; i < 5; ++i)
      made.sample(t + 4 * k_second + 20 + i, 0x20000);
    made.region(2, t + 4 * k_second + 40, false, 2);
    made.region(1, t + 6 * k_second, false);
  }
  const ProfileSummary summary = summary_of(made.profile);
  ASSERT_EQ(summary.regions.size(), 4u);
  EXPECT_EQ(summary.regions[0].samples, 1u);
  EXPECT_EQ(summary.regions[1].samples, 36u);
  EXPECT_EQ(summary.regions[1].entries, 8u);
  EXPECT_EQ(summary.regions[1].entered_anew, 4u);
  EXPECT_EQ(summary.regions[1].nanoseconds, 8 * k_second);
  EXPECT_EQ(summary.regions[2].samples, 20u);
  EXPECT_EQ(summary.regions[2].nanoseconds, 8 * k_second);
  EXPECT_EQ(summary.regions[3].samples, 0u);
  EXPECT_EQ(summary.threads, 4u);
  const SiteSummary& second = site_at(summary, 16);
  ASSERT_EQ(second.by_region.size(), 2u);
  EXPECT_EQ(second.by_region[0].of, 2u);
  EXPECT_DOUBLE_EQ(second.by_region[0].share.value, 1);
  EXPECT_NEAR(second.by_region[1].share.value, 4.0 / 36, 1e-9);
}

// A hundred stretches of a region that workers began within another one end before that one's.
TEST(Metrics, PhasesOfARegionAreFoundBehindThoseWithinIt) {
  Made made(1);
  const std::uint64_t t = 10 * k_second;
  made.object(0, k_second, 0x10000, 1000);
  made.region(0, t + 100, true);
  made.region(0, t + 1000, false);
  made.region(1, t + 2000, true);
  made.region(1, t + 2001, false);
  using Kind = StretchDefinition::Kind;
  made.profile.stretch_definitions = {{Kind::barrier, 0, 0, {0, 64}, 1, 900},
                                      {Kind::barrier, 1, 0, {0, 80}, 100, 1000}};
  for (std::uint64_t i = 0; i < 100; ++i)
    made.profile.stretches.push_back({t + 300 + i, 10, 1, 2});
  made.profile.stretches.push_back({t + 1000, 900, 0, 1});
  for (std::uint64_t i = 0; i < 800; ++i)
    made.sample(t + 150 + i, 0x10000);
  const ProfileSummary summary = summary_of(made.profile);
  ASSERT_EQ(summary.phases.size(), 2u);
  EXPECT_EQ(summary.phases[0].samples, 800u);
  EXPECT_EQ(summary.phases[1].samples, 0u);
}

// One region from 100 to 200 with a barrier at 150; a named phase ends in it.
TEST(Metrics, PhasesSplitTheSamples) {
  Made made(2);
  const std::uint64_t t = 10 * k_second;
  made.object(0, k_second, 0x10000, 1000);
  made.object(1, k_second, 0x20000, 1000);
  made.region(0, t + 100, true);
  made.region(0, t + 200, false);
  using Kind = StretchDefinition::Kind;
  made.profile.stretch_definitions = {{Kind::serial, 0, 1, {}, 1, 100},
                                      {Kind::barrier, 0, 0, {0, 64}, 7, 350},
                                      {Kind::rest, 0, 0, {}, 1, 50},
                                      {Kind::serial, 1, 0, {}, 1, 300}};
  made.profile.stretches = {{t + 100, 100, 0, 1}, {t + 150, 50, 1, 1}, {t + 200, 50, 2, 1}};
  made.profile.phases = {{t, "one"}, {t + 180, ""}};
  for (unsigned i = 0; i < 20; ++i)
    made.sample(t + 10, 0x10000); // serial
  for (unsigned i = 0; i < 10; ++i)
    made.sample(t + 120, 0x20000); // to the barrier
  for (unsigned i = 0; i < 30; ++i)
    made.sample(t + 150, 0x10000 + 900);
  for (unsigned i = 0; i < 40; ++i)
    made.sample(t + 190, 0x20000); // to the end, in no named phase
  made.sample(t + 300, 0x20000);   // behind the region: no record of that stretch
  const ProfileSummary summary = summary_of(made.profile);
  ASSERT_EQ(summary.phases.size(), 5u);
  const std::uint64_t samples[] = {20, 40, 40, 0, 60};
  for (std::size_t i = 0; i < 5; ++i) {
    const PhaseSummary& phase = summary.phases[i];
    EXPECT_EQ(phase.samples, samples[i]) << i;
    EXPECT_DOUBLE_EQ(phase.share.value, double(samples[i]) / 101) << i;
    EXPECT_LE(phase.share.low, phase.share.value) << i;
    EXPECT_GE(phase.share.high, phase.share.value) << i;
  }
  EXPECT_EQ(summary.phases[1].entries, 7u);
  EXPECT_EQ(summary.phases[1].nanoseconds, 350u);
  EXPECT_EQ(summary.phases[1].region, 1u);
  EXPECT_EQ(summary.phases[4].name, "one");
  EXPECT_EQ(summary.phases[4].nanoseconds, 180u);
  for (const SiteSummary& site : summary.sites)
    for (const SitePart& part : site.by_phase)
      if (part.of == 1) {
        const bool first = site.frames[0].offset == 0;
        EXPECT_EQ(part.samples, first ? 30u : 10u);
        EXPECT_DOUBLE_EQ(part.share.value, first ? 0.75 : 0.25);
        const std::vector<HotRange> hot = part.offsets.hot_ranges();
        ASSERT_EQ(hot.size(), 1u);
        EXPECT_EQ(hot[0].begin >= 0.5, first);
      }
}

TEST(Metrics, RepeatsAreJoinedBySite) {
  Made first(2), second(2);
  first.object(0, k_second, 0x10000, 100);
  first.object(1, k_second, 0x20000, 100);
  second.object(1, k_second, 0x70000, 300); // elsewhere, larger
  second.object(0, k_second, 0x50000, 50);
  for (unsigned i = 0; i < 30; ++i)
    first.sample(2 * k_second + i, 0x10000);
  for (unsigned i = 0; i < 10; ++i)
    second.sample(2 * k_second + i, 0x70000);
  const ProfileSummary summary = summary_of(std::vector{first.profile, second.profile});
  ASSERT_EQ(summary.sites.size(), 2u);
  EXPECT_DOUBLE_EQ(site_at(summary, 0).share.value, 0.75);
  EXPECT_DOUBLE_EQ(site_at(summary, 0).accesses.total(), 15); // of one process
  EXPECT_EQ(site_at(summary, 0).bytes_peak, 100u);
  EXPECT_EQ(site_at(summary, 16).bytes_peak, 300u);
  EXPECT_EQ(summary.modules.size(), 1u);
}

TEST(Metrics, DifferentMeasuresAreNotMixed) {
  Made first(1), second(1);
  second.profile.run.measure = Measure::time;
  for (Made* made : {&first, &second}) {
    made->object(0, k_second, 0x10000, 100);
    made->sample(2 * k_second, 0x10000);
  }
  const std::vector<Profile> both = {first.profile, second.profile};
  EXPECT_FALSE(summarize(both));
}

TEST(Metrics, RanksAreComparedAndRepeatsOfARankAveraged) {
  // Rank 5 twice, with one and three samples in the first object; rank 2 once, without that object.
  std::vector<Profile> profiles;
  for (const unsigned samples : {1u, 3u}) {
    Made made(2);
    made.profile.run.rank = 5;
    made.object(0, k_second, 0x10000, 300);
    made.object(1, k_second, 0x20000, 100);
    for (unsigned i = 0; i < samples; ++i)
      made.sample(2 * k_second + i, 0x10000 + i);
    made.sample(2 * k_second + 9, 0x20000);
    profiles.push_back(made.profile);
  }
  Made other(2);
  other.profile.run.rank = 2;
  other.object(1, k_second, 0x20000, 100);
  other.sample(3 * k_second, 0x20000);
  other.sample(4 * k_second, 0); // in no object
  profiles.push_back(other.profile);
  const ProfileSummary summary = summary_of(profiles);
  ASSERT_EQ(summary.ranks.size(), 2u);
  EXPECT_EQ(summary.ranks[0].rank, 2u);
  EXPECT_EQ(summary.ranks[1].rank, 5u);
  EXPECT_EQ(summary.ranks[1].profiles, 2u);
  EXPECT_EQ(summary.ranks[1].samples, 6u);
  EXPECT_DOUBLE_EQ(summary.ranks[0].all.weight, 2);
  EXPECT_DOUBLE_EQ(summary.ranks[1].all.weight, 3);
  EXPECT_EQ(summary.ranks[1].all.bytes_peak, 400u);
  const SiteSummary &first = site_at(summary, 0), &second = site_at(summary, 16);
  EXPECT_DOUBLE_EQ(first.by_rank[0].weight, 0);
  EXPECT_DOUBLE_EQ(first.by_rank[1].weight, 2);
  const Imbalance uneven = imbalance(summary, first.by_rank, false);
  EXPECT_DOUBLE_EQ(uneven.factor, 2);
  EXPECT_EQ(uneven.rank, 5u);
  EXPECT_DOUBLE_EQ(imbalance(summary, first.by_rank, true).factor, 2);
  EXPECT_DOUBLE_EQ(imbalance(summary, second.by_rank, false).factor, 1);
  profiles.pop_back();
  EXPECT_TRUE(summary_of(profiles).ranks.empty()) << "repeats only";
}

TEST(Metrics, NoSamplesIsSaidNotGuessed) {
  Made made(1);
  made.object(0, k_second, 0x10000, 100);
  const ProfileSummary summary = summary_of(made.profile);
  EXPECT_EQ(summary.samples, 0u);
  EXPECT_DOUBLE_EQ(summary.sites[0].share.low, 0);
  EXPECT_DOUBLE_EQ(summary.sites[0].share.high, 1);
}

TEST(Interval, Wilson) {
  const Interval none = wilson_interval(0, 100);
  EXPECT_DOUBLE_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 0.037, 0.001);
  const Interval half = wilson_interval(0.5, 100);
  EXPECT_NEAR(half.low, 0.404, 0.001);
  EXPECT_NEAR(half.high, 0.596, 0.001);
}

// A program in two phases with different hot objects and samples that come in runs: the intervals
// must hold the true shares in at least 90 % of trials, and must not be uselessly wide.
TEST(Interval, HoldsTheTruth) {
  constexpr unsigned k_trials = 120, k_groups = 5;
  const double phase_share[2][k_groups] = {{0.6, 0.2, 0.1, 0.1, 0.0}, {0.05, 0.15, 0.5, 0.1, 0.2}};
  for (const unsigned samples : {200u, 3000u}) {
    std::mt19937_64 random(7);
    unsigned inside = 0, all = 0;
    double width = 0;
    for (unsigned trial = 0; trial < k_trials; ++trial) {
      std::vector<std::vector<WeightedSample>> runs(1);
      std::uint32_t current = 0;
      for (unsigned i = 0; i < samples; ++i) {
        const auto& shares = phase_share[i < samples / 2 ? 0 : 1];
        if (i == 0 || i == samples / 2 || random() % 3 == 0) { // runs of three on average
          std::discrete_distribution<std::uint32_t> pick(shares, shares + k_groups);
          current = pick(random);
        }
        runs[0].push_back({current, 1});
      }
      const std::vector<Interval> intervals = share_intervals(runs, k_groups);
      for (unsigned group = 0; group < k_groups; ++group) {
        const double truth = (phase_share[0][group] + phase_share[1][group]) / 2;
        inside += truth >= intervals[group].low && truth <= intervals[group].high;
        ++all;
        width += intervals[group].high - intervals[group].low;
      }
    }
    std::printf("%u samples: %.1f %% of intervals hold the truth, mean width %.3f\n", samples,
                100.0 * inside / all, width / all);
    EXPECT_GE(inside, 0.9 * all) << samples;
    EXPECT_LT(width / all, samples == 200 ? 0.25 : 0.07);
  }
}

TEST(Interval, SamplesWithoutWeightCountForNobody) {
  const std::vector<std::vector<WeightedSample>> runs = {{{0, 1.0f}, {1, 0.0f}, {0, 1.0f}}};
  const std::vector<Interval> intervals = share_intervals(runs, 2);
  EXPECT_EQ(intervals[0].high, 1);
  EXPECT_EQ(intervals[1].low, 0);
}

TEST(Interval, WeightsWidenIt) {
  std::vector<std::vector<WeightedSample>> even(1), uneven(1);
  std::mt19937_64 random(3);
  for (unsigned i = 0; i < 1000; ++i) {
    const auto group = static_cast<std::uint32_t>(random() % 2);
    even[0].push_back({group, 1});
    uneven[0].push_back({group, random() % 20 == 0 ? 50.0f : 1.0f});
  }
  const Interval a = share_intervals(even, 2)[0], b = share_intervals(uneven, 2)[0];
  EXPECT_GT(b.high - b.low, 2 * (a.high - a.low));
}
