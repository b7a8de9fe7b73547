// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How streams of one loop share its time: small loops whose lines can be counted by hand, then
// whole profiles in which all time was blamed on one array.
#include "analysis_summary.hpp"
#include "units.hpp"

#include "analysis/shares.hpp"
#include "analysis/streams.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace omptier;

namespace {

enum : std::uint32_t { a, b, c }; // sites: 16 MB each, one behind the other

AccessPattern access(std::uint64_t pc, std::uint64_t address, float bytes, std::int64_t stride,
                     AccessKind kind = AccessKind::load, float accesses = 10) {
  AccessPattern pattern;
  pattern.pc = pc;
  pattern.address = address;
  pattern.kind = kind;
  pattern.accesses = accesses;
  pattern.bytes = accesses * bytes;
  pattern.strides[0] = {stride, 1};
  return pattern;
}

std::uint64_t in(std::uint32_t site, std::uint64_t offset = 0) {
  return (100 + 16 * site) * k_mib + offset;
}

struct At {
  std::uint32_t site;
  bool cached;
  AccessPattern pattern;
};

std::map<std::uint32_t, double> lines(const std::vector<At>& loop) {
  std::vector<LoggedPattern> patterns;
  for (const At& at : loop)
    patterns.push_back({at.pattern, {}, {}});
  std::vector<LoopAccess> accesses;
  for (std::size_t i = 0; i < loop.size(); ++i)
    accesses.push_back({loop[i].site, loop[i].cached, &patterns[i]});
  std::map<std::uint32_t, double> by_site;
  for (const Stream& stream : streams_of(std::move(accesses)))
    by_site[stream.site] += stream.lines;
  return by_site;
}

TEST(Streams, WrittenLinesMoveTwice) {
  const auto triad = lines({{a, false, access(1, in(a), 8, 8, AccessKind::store)},
                            {b, false, access(2, in(b), 8, 8)},
                            {c, false, access(3, in(c), 8, 8)}});
  EXPECT_DOUBLE_EQ(triad.at(a), 2 * triad.at(b));
  EXPECT_DOUBLE_EQ(triad.at(b), triad.at(c));
  const auto in_place = lines({{a, false, access(1, in(a), 8, 8)},
                               {a, false, access(1, in(a), 8, 8, AccessKind::store)},
                               {b, false, access(2, in(b), 8, 8)}});
  EXPECT_DOUBLE_EQ(in_place.at(a), 2 * in_place.at(b));
}

TEST(Streams, WidthOfElementsCounts) {
  const auto widened =
      lines({{a, false, access(1, in(a), 4, 4)}, {b, false, access(2, in(b), 8, 8)}});
  EXPECT_DOUBLE_EQ(widened.at(b), 2 * widened.at(a));
  AccessPattern copy = access(1, in(a), 4096, 0, AccessKind::load, 1);
  copy.strides[0] = {}; // one instruction for a whole piece
  EXPECT_DOUBLE_EQ(lines({{a, false, copy}}).at(a), 64);
}

TEST(Streams, RowsOfAStencilMoveALineOnce) {
  std::vector<At> loop{{b, false, access(9, in(b), 64, 64, AccessKind::store)}};
  for (const std::uint64_t row : {0, 8192, 16384})
    loop.push_back({a, false, access(row + 1, in(a, row), 64, 64)});
  const auto stencil = lines(loop);
  EXPECT_DOUBLE_EQ(stencil.at(a), 10);
  EXPECT_DOUBLE_EQ(stencil.at(b), 20);
  // Halves of an array that are farther apart than a cache are two streams.
  const auto halves = lines(
      {{a, false, access(1, in(a), 64, 64)}, {a, false, access(2, in(a, 8 * k_mib), 64, 64)}});
  EXPECT_DOUBLE_EQ(halves.at(a), 20);
}

TEST(Streams, UnrolledLoopsAndRowsOfTiles) {
  std::vector<At> unrolled, tile;
  for (const std::uint64_t part : {0, 64, 128, 192}) {
    unrolled.push_back({a, false, access(part + 1, in(a, part), 64, 256)});
    tile.push_back({a, false, access(part + 1, in(a, part), 64, 8192)});
  }
  EXPECT_DOUBLE_EQ(lines(unrolled).at(a), 40);
  EXPECT_DOUBLE_EQ(lines(tile).at(a), 40);
}

TEST(Streams, WhatIsNoStreamHasNone) {
  AccessPattern gather = access(1, in(a), 8, 8);
  gather.through = in(b);
  gather.strides[0].share = 0.3F;
  AccessPattern chase = access(2, in(c), 8, 64);
  chase.chased = 1;
  EXPECT_TRUE(lines({{a, false, gather}, {c, false, chase}}).empty());
  EXPECT_TRUE(lines({{a, false, access(3, in(a), 8, 2048)}}).empty());
  EXPECT_DOUBLE_EQ(lines({{a, false, access(3, in(a), 8, 64)}}).at(a), 10); // every line
  EXPECT_DOUBLE_EQ(lines({{a, true, access(3, in(a), 8, 8)}}).at(a), 0);
}

// Weight by site of a loop of which all samples were blamed on b.
struct BlamedLoop {
  explicit BlamedLoop(std::vector<AccessPattern> accesses) : accesses_(std::move(accesses)) {
    profile_.file = "made";
    profile_.run.measure = Measure::time;
    profile_.run.worst_error = 0.2;
    ModuleInfo module;
    module.name = module.identity = "app";
    profile_.modules.push_back(module);
    for (const std::uint32_t site : {a, b, c}) {
      profile_.sites.push_back({site, {{0, 16 * site}}});
      ObjectRecord object;
      object.object = object.site = site;
      object.address = in(site);
      object.bytes = bytes_[site];
      profile_.objects.push_back(object);
    }
  }
  BlamedLoop& bytes(std::uint32_t site, std::uint64_t bytes) {
    profile_.objects[site].bytes = bytes;
    return *this;
  }
  BlamedLoop& error(double worst) {
    profile_.run.worst_error = worst;
    return *this;
  }
  ProfileSummary summary(Measure measure = Measure::time) {
    profile_.run.measure = measure;
    for (std::uint64_t time = 1; time <= 2000; ++time) {
      LoggedSample sample;
      sample.time = profile_.last_time = time;
      sample.pc = 2;
      sample.address = in(b);
      sample.kind = AccessKind::load;
      sample.first_pattern = static_cast<std::uint32_t>(profile_.patterns.size());
      if (time % 8 == 1) sample.patterns = static_cast<std::uint32_t>(accesses_.size());
      profile_.samples.push_back(sample);
      if (time % 8 != 1) continue; // not every loop is emulated
      for (const AccessPattern& access : accesses_) {
        profile_.patterns.push_back({access, {}, {}});
        profile_.patterns.back().time = time;
      }
    }
    return summary_of(profile_);
  }

private:
  Profile profile_;
  std::vector<AccessPattern> accesses_;
  std::uint64_t bytes_[3] = {16 * k_mib, 16 * k_mib, 16 * k_mib};
};

const SiteSummary& site(const ProfileSummary& summary, std::uint32_t number) {
  return site_at(summary, 16 * std::uint64_t{number});
}

std::vector<AccessPattern> triad() {
  return {access(1, in(a), 8, 8, AccessKind::store), access(2, in(b), 8, 8),
          access(3, in(c), 8, 8)};
}

TEST(Streams, ShareHalfOfTheirTimeByLines) {
  const ProfileSummary summary = BlamedLoop(triad()).summary();
  EXPECT_NEAR(site(summary, a).share.value, 0.25, 0.01); // half of 2 in 4
  EXPECT_NEAR(site(summary, b).share.value, 0.625, 0.01);
  EXPECT_NEAR(site(summary, c).share.value, 0.125, 0.01);
  EXPECT_GT(site(summary, a).accesses.stores(), 0);
  EXPECT_EQ(site(summary, a).accesses.loads(), 0);
  // From the blame alone to the traffic alone.
  EXPECT_LT(site(summary, a).share.low, 0.01);
  EXPECT_GE(site(summary, a).share.high, 0.5);
  EXPECT_LE(site(summary, b).share.low, 0.25);
  EXPECT_EQ(site(summary, b).share.high, 1);
}

TEST(Streams, OnlySamplesOfTime) {
  const ProfileSummary summary = BlamedLoop(triad()).summary(Measure::misses);
  EXPECT_EQ(site(summary, b).share.value, 1);
}

TEST(Streams, WhatWaitsForAnAddressKeepsItsTime) {
  std::vector<AccessPattern> loop = triad();
  loop[1].through = in(c);
  loop[1].strides[0].share = 0.3F;
  EXPECT_EQ(site(BlamedLoop(loop).summary(), b).share.value, 1);
}

TEST(Streams, CachedArraysMoveNothing) {
  const ProfileSummary summary = BlamedLoop(triad()).bytes(b, 16384).summary();
  EXPECT_NEAR(site(summary, a).share.value, 1.0 / 3, 0.01);
  EXPECT_NEAR(site(summary, b).share.value, 1.0 / 2, 0.01);
  EXPECT_EQ(site(BlamedLoop({access(2, in(b), 8, 8)}).bytes(b, 16384).summary(), b).share.value, 1);
}

// All that was blamed on a site went to others': it may have been right.
TEST(Streams, WhatWasDealtAwayIsInTheInterval) {
  ProfileSummary summary;
  summary.worst_error = 0.25;
  summary.regions.resize(1);
  summary.regions[0].accesses.scattered_load = 100;
  summary.regions[0].share = {1, 1, 1};
  summary.sites.resize(2); // the second one never had a sample
  summary.sites[0].by_region.emplace_back().dealt = -40;
  summary.sites[1].by_region.emplace_back();
  admit_source_error(summary);
  EXPECT_GE(summary.sites[0].share.high, 0.4);
  EXPECT_GE(summary.sites[0].by_region[0].share.high, 0.4);
  EXPECT_EQ(summary.sites[0].share.low, 0);
  EXPECT_EQ(summary.sites[1].share.high, 0);
}

TEST(Streams, SharedTimeIsLessWrongThanBlame) {
  const auto error = [](std::vector<AccessPattern> loop, double worst, Measure measure) {
    return BlamedLoop(std::move(loop)).error(worst).summary(measure).worst_error;
  };
  EXPECT_EQ(error(triad(), 0.35, Measure::time), 0.25);
  EXPECT_EQ(error(triad(), 0.1, Measure::time), 0.1);
  EXPECT_EQ(error(triad(), 1, Measure::time), 1); // no addresses
  EXPECT_EQ(error(triad(), 0.35, Measure::misses), 0.35);
  EXPECT_EQ(error({}, 0.35, Measure::time), 0.35);
}

} // namespace
