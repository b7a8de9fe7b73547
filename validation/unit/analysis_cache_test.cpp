// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is said of cache and memory from watched addresses: on a guest that sees 105 MiB of
// last-level cache, which strangers use too, with 2 MiB to itself.
#include "analysis_summary.hpp"
#include "log_build.hpp"
#include "units.hpp"

#include "analysis/cache.hpp"
#include "base/os.hpp"

#include <gtest/gtest.h>
#include <limits>

using namespace omptier;

namespace {

constexpr CacheSizes k_guest = {2 << 20, 105 << 20};
constexpr float k_millisecond = 1e6f, k_microsecond = 1e3f;

AddressReuse after(float nanoseconds, std::uint32_t samples = 0, std::uint64_t range = 0) {
  AddressReuse reuse;
  reuse.until_next_use = nanoseconds;
  reuse.watched = 100 * k_millisecond;
  reuse.samples = samples;
  reuse.range = range;
  return reuse;
}

// A log with an object of that size, its accesses and watches.
class Watched {
public:
  explicit Watched(std::uint64_t bytes, std::int64_t stride, Measure measure = Measure::time) {
    EXPECT_TRUE(open_log(*writer_, file_));
    RunRecord run = some_run();
    run.start_time = monotonic_nanoseconds();
    run.measure = measure;
    run.caches = k_guest;
    writer_->run(run);
    const Frame frame{0, 0x100};
    writer_->site(0, &frame, 1);
    writer_->object(0, k_begin, bytes, 1, 0);
    for (std::uint64_t i = 0; i < 256; ++i) {
      AccessSample sample = sample_at(monotonic_nanoseconds(), k_begin + i * bytes / 256);
      sample.pc = 0x40;
      sample.level = AccessLevel::cache; // as logs of before said
      writer_->sample(sample);
      AccessPattern pattern;
      pattern.pc = 0x40;
      pattern.address = sample.address;
      pattern.kind = AccessKind::load;
      pattern.accesses = 10, pattern.bytes = 80;
      pattern.strides[0] = {stride != 0 ? stride : static_cast<std::int64_t>(i * 4096 + 8), 1};
      writer_->pattern(pattern);
    }
  }
  void watch(AddressReuse reuse, unsigned times) {
    reuse.time = monotonic_nanoseconds();
    reuse.address = k_begin + 4096;
    for (unsigned i = 0; i < times; ++i)
      writer_->reuse(reuse);
  }
  SiteSummary site() {
    writer_->end();
    writer_->close();
    return site_at(summary_of(read_back(file_.path())), 0x100);
  }

private:
  static constexpr std::uint64_t k_begin = 0x10000000;
  ScratchFile file_;
  std::unique_ptr<LogWriter> writer_ = std::make_unique<LogWriter>();
};

} // namespace

TEST(Cache, WhatComesBackAtOnceIsInTheThreadsOwn) {
  for (const PatternKind kind : {PatternKind::random, PatternKind::sequential, PatternKind::tiled})
    for (const double bytes : {0.125, 61.0, 1000.0})
      EXPECT_EQ(level_of(after(20 * k_microsecond), k_guest, {kind, bytes * k_mib}),
                AccessLevel::cache);
}

// 61 MiB at random, 75 MiB in order: whether the cache holds them is its other users' business.
TEST(Cache, WhatASharedCacheMayHoldIsUnknown) {
  for (const PatternKind kind : {PatternKind::random, PatternKind::sequential})
    for (const float time : {0.0f, 1 * k_millisecond, 50 * k_millisecond})
      for (const double bytes : {0.125, 61.0, 75.0, 128.0})
        EXPECT_EQ(level_of(after(time), k_guest, {kind, bytes * k_mib}), AccessLevel::unknown);
}

TEST(Cache, StreamsBeyondTwiceTheCacheAreMemorys) {
  const WatchedSite stream = {PatternKind::sequential, 256 * k_mib};
  EXPECT_EQ(level_of(after(30 * k_millisecond), k_guest, stream), AccessLevel::memory);
  EXPECT_EQ(level_of(after(0), k_guest, stream), AccessLevel::memory);
  EXPECT_EQ(level_of(after(0, 5, 90 << 20), k_guest, stream), AccessLevel::memory);
  EXPECT_EQ(level_of(after(0, 5, 1 << 20), k_guest, stream), AccessLevel::unknown); // stays
  EXPECT_EQ(level_of(after(1 * k_millisecond), k_guest, stream), AccessLevel::unknown); // a block
  EXPECT_EQ(level_of(after(0), k_guest, {PatternKind::random, 256 * k_mib}), AccessLevel::unknown);
  EXPECT_EQ(level_of(after(0), {}, stream), AccessLevel::unknown); // an old log
}

TEST(Cache, FewWatchesAreNoFigure) {
  WatchCount count;
  EXPECT_FALSE(count.is_enough());
  for (int i = 0; i < 3; ++i)
    count.add(AccessLevel::cache);
  EXPECT_FALSE(count.is_enough());
  for (int i = 0; i < 5; ++i)
    count.add(AccessLevel::cache);
  EXPECT_TRUE(count.is_enough());
  EXPECT_EQ(count.share().value, 1);
  EXPECT_NEAR(count.share().low, 0.68, 0.01);
  for (int i = 0; i < 8; ++i)
    count.add(AccessLevel::unknown); // half of them say nothing
  EXPECT_FALSE(count.is_enough());
  EXPECT_LT(count.share().low, 0.3);
  EXPECT_EQ(count.share().high, 1);
}

TEST(Cache, SitesHaveTheirWatchesShare) {
  Watched small(128 << 10, 0);
  small.watch(after(20 * k_microsecond), 10);
  const SiteSummary cached = small.site();
  EXPECT_EQ(cached.cache.value, 1);
  EXPECT_GT(cached.level_share, 0.99);
  EXPECT_EQ(cached.accesses.from_cache, cached.accesses.total());
  EXPECT_EQ(cached.by_region[0].accesses.from_cache, cached.accesses.total());

  Watched large(256 << 20, 8);
  large.watch(after(30 * k_millisecond), 10);
  const SiteSummary streamed = large.site();
  EXPECT_EQ(streamed.pattern.kind, PatternKind::sequential);
  EXPECT_EQ(streamed.cache.value, 0);
  EXPECT_GT(streamed.level_share, 0.99);
  EXPECT_EQ(streamed.accesses.from_cache, 0);
}

// An instruction's verdict held for whatever object it came to: logs of before say nothing.
TEST(Cache, WithoutWatchesNothingIsSaid) {
  Watched none(75 << 20, 4), few(128 << 10, 0), shared(75 << 20, 4), waits(256 << 20, 8);
  EXPECT_EQ(none.site().level_share, 0);
  waits.watch(after(0), 20); // its thread did not run meanwhile
  EXPECT_EQ(waits.site().level_share, 0);
  few.watch(after(20 * k_microsecond), 3);
  EXPECT_EQ(few.site().level_share, 0);
  shared.watch(after(10 * k_millisecond), 20);
  const SiteSummary site = shared.site();
  EXPECT_EQ(site.level_share, 0);
  EXPECT_EQ(site.accesses.from_cache, 0);
  EXPECT_LT(site.cache.low, 0.01);
  EXPECT_GT(site.cache.high, 0.99);
}

// Sources that see it themselves say it of each sample.
TEST(Cache, EventsKnowTheirLevel) {
  Watched seen(75 << 20, 4, Measure::accesses);
  const SiteSummary site = seen.site();
  EXPECT_EQ(site.cache.value, 1);
  EXPECT_GT(site.cache.low, 0.98);
  EXPECT_EQ(site.level_share, 1);
}

TEST(Cache, ImpossibleTimesEndTheLog) {
  for (const float time : {-1.0f, std::numeric_limits<float>::quiet_NaN(), 1e30f}) {
    StartedLog log;
    AddressReuse reuse = after(time);
    reuse.time = monotonic_nanoseconds();
    log->reuse(reuse);
    log->end();
    log->close();
    const Parsed<Profile> profile = read_profile(log.file.path());
    EXPECT_TRUE(!profile || (profile->reuses.empty() && !profile->cut.empty()));
  }
}
