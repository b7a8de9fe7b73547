// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Watchpoints tell an array that stays in the cache from one that does not. Arrays are 64 KiB and
// 3 times the last-level cache, swept over and over, one element a line.

#include "sampling/reuse.hpp"
#include "sampling/source.hpp"

#include "base/os.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <unistd.h>

namespace {

using namespace omptier;

TEST(SamplingReuse, ShortestTimeOfOneInstruction) {
  EXPECT_EQ(reuse_time({}), 0u);
  EXPECT_EQ(reuse_time({{0x10, 5}}), 0u);
  EXPECT_EQ(reuse_time({{0x10, 5}, {0x20, 6}}), 0u); // load and store of one visit
  EXPECT_EQ(reuse_time({{0x10, 5}, {0x20, 6}, {0x10, 105}, {0x20, 300}, {0x10, 190}}), 85u);
}

// An address that is used every 10, or 10 times every 1 and then after 1000.
TEST(SamplingReuse, SamplesBetweenTwoUses) {
  using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  const Pairs swept = {{0x10, 100}, {0x20, 101}, {0x10, 110}, {0x10, 120}, {0x10, 130}};
  const Pairs samples = {{50, 99},     {10'000, 104}, {70, 111},
                         {9'000, 125}, {9'000, 131},  {9'000, 500}};
  const BetweenUses wide = between_uses(swept, samples, 60, 8'000);
  EXPECT_EQ(wide.samples, 3u);
  EXPECT_EQ(wide.far, 2u);
  EXPECT_TRUE(wide.is_wide());
  Pairs tiled;
  for (std::uint64_t time : {100, 101, 102, 103, 104, 1103, 1104})
    tiled.emplace_back(0x10, time);
  const BetweenUses tile =
      between_uses(tiled, {{9'000, 500}, {9'000, 600}, {9'000, 700}}, 60, 8'000);
  EXPECT_EQ(tile.samples, 0u);
  EXPECT_FALSE(tile.is_wide());
  EXPECT_FALSE(between_uses({}, samples, 60, 8'000).is_wide());
}

struct Levels final : SampleSink {
  std::uint64_t begin = 0, end = 0;
  unsigned inside = 0, cache = 0, memory = 0;
  void sample(const AccessSample& sample) override {
    if (sample.address < begin || sample.address >= end) return;
    ++inside;
    cache += sample.level == AccessLevel::cache;
    memory += sample.level == AccessLevel::memory;
  }
  void lost(std::uint64_t) override {}
};

// One thread sweeps for some seconds, or until enough samples have a level.
Levels sweep(std::size_t bytes) {
  std::string why;
  auto source = open_sample_source({"perf", 1000}, why);
  Levels levels;
  if (!source) {
    ADD_FAILURE() << why;
    return levels;
  }
  const std::size_t count = bytes / sizeof(std::uint64_t);
  auto data = std::make_unique<std::uint64_t[]>(count);
  levels.begin = reinterpret_cast<std::uint64_t>(data.get());
  levels.end = levels.begin + bytes;
  source->thread_begin(gettid());
  source->drain(levels);
  const std::uint64_t begin = monotonic_nanoseconds();
  std::uint64_t sum = 0, drained = begin;
  std::size_t at = 0;
  while (monotonic_nanoseconds() - begin < 10'000'000'000 && levels.cache + levels.memory < 200) {
    for (unsigned i = 0; i < 100'000; ++i) {
      sum += data[at];
      at += 8;
      if (at >= count) at = 0;
    }
    if (monotonic_nanoseconds() - drained < 20'000'000) continue;
    source->drain(levels);
    drained = monotonic_nanoseconds();
  }
  source->thread_end(gettid());
  source->drain(levels);
  EXPECT_NE(sum, 1u);
  return levels;
}

TEST(SamplingReuse, SmallArrayIsServedByTheCache) {
  const Levels levels = sweep(64 << 10);
  EXPECT_GE(levels.cache, 100u) << levels.inside;
  EXPECT_LE(levels.memory * 10, levels.cache);
}

TEST(SamplingReuse, LargeArrayIsServedByMemory) {
  const Levels levels = sweep(3 * static_cast<std::size_t>(last_level_cache().all));
  EXPECT_GE(levels.memory, 100u) << levels.inside;
  EXPECT_LE(levels.cache * 10, levels.memory);
}

#if defined(__x86_64__)
// rep movs comes to a watched word again at once, wherever it is served from.
TEST(SamplingReuse, OfCopiesNothingIsKnown) {
  std::string why;
  auto source = open_sample_source({"perf", 1000}, why);
  ASSERT_TRUE(source) << why;
  const std::size_t bytes = 3 * static_cast<std::size_t>(last_level_cache().all);
  auto from = std::make_unique<char[]>(bytes), to = std::make_unique<char[]>(bytes);
  Levels levels;
  levels.begin = reinterpret_cast<std::uint64_t>(from.get());
  levels.end = levels.begin + bytes;
  source->thread_begin(gettid());
  source->drain(levels);
  const std::uint64_t begin = monotonic_nanoseconds();
  while (monotonic_nanoseconds() - begin < 2'000'000'000 && levels.cache + levels.memory == 0)
    for (std::size_t done = 0, piece = bytes / 16; done + piece <= bytes; done += piece) {
      const char* source_piece = from.get() + done;
      char* target = to.get() + done;
      std::size_t count = piece;
      asm volatile("rep movsb" : "+S"(source_piece), "+D"(target), "+c"(count) : : "memory");
      source->drain(levels);
    }
  source->thread_end(gettid());
  source->drain(levels);
  EXPECT_GE(levels.inside, 10u);
  EXPECT_EQ(levels.cache + levels.memory, 0u);
}
#endif

TEST(SamplingReuse, RefusalIsKnown) {
  EXPECT_TRUE(can_watch_addresses());
  const OsCalls* before = &os();
  OsCalls refusing = *before;
  refusing.perf_event_open = [](perf_event_attr*, pid_t, int, int, unsigned long) { return -1; };
  replace_os_calls(&refusing);
  EXPECT_FALSE(can_watch_addresses());
  replace_os_calls(before);
}

} // namespace
