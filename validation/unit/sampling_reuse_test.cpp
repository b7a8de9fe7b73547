// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Watchpoints measure how soon addresses are used again, in arrays that are swept over and over.

#include "sampling/reuse.hpp"
#include "sampling/source.hpp"

#include "base/os.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <unistd.h>

namespace {

using namespace omptier;

TEST(SamplingReuse, MedianTimeOfOneInstruction) {
  EXPECT_EQ(reuse_time({}), 0u);
  EXPECT_EQ(reuse_time({{0x10, 5}}), 0u);
  EXPECT_EQ(reuse_time({{0x10, 5}, {0x20, 6}}), 0u); // load and store of one visit
  EXPECT_EQ(reuse_time({{0x10, 5}, {0x20, 6}, {0x10, 105}}), 100u);
  // At random: one of many comes soon.
  EXPECT_EQ(reuse_time({{0x10, 5}, {0x10, 6}, {0x10, 1006}, {0x20, 1007}, {0x10, 2500}}), 1000u);
}

// Cache folders as the kernel shows them.
class CacheFolder {
public:
  CacheFolder() { path_ = std::filesystem::temp_directory_path() / "omptier-caches-XXXXXX"; }
  ~CacheFolder() { std::filesystem::remove_all(made_); }
  void add(const std::string& size, const std::string& sharing) {
    if (made_.empty()) made_ = mkdtemp(path_.data());
    const std::filesystem::path folder = made_ + "/index" + std::to_string(count_++);
    std::filesystem::create_directory(folder);
    std::ofstream(folder / "size") << size << "\n";
    std::ofstream(folder / "shared_cpu_list") << sharing << "\n";
  }
  CacheSizes read(bool guest) const { return read_cache_sizes(made_.c_str(), guest); }

private:
  std::string path_, made_;
  unsigned count_ = 0;
};

TEST(SamplingReuse, WhatAThreadHasOfTheCaches) {
  CacheFolder eight;
  eight.add("32K", "0");
  eight.add("2048K", "0");
  eight.add("16384K", "0-7");
  EXPECT_EQ(eight.read(false).own, 2u << 20);
  EXPECT_EQ(eight.read(false).all, 16u << 20);
  EXPECT_EQ(eight.read(true).own, 2u << 20);
  CacheFolder two; // processors of a host with many
  two.add("48K", "0");
  two.add("2048K", "0");
  two.add("107520K", "0-1");
  EXPECT_EQ(two.read(false).own, 105u << 19);
  EXPECT_EQ(two.read(true).own, (105u << 20) / 25);
  EXPECT_EQ(two.read(true).all, 105u << 20);
  EXPECT_EQ(read_cache_sizes("/nowhere", false).all, 0u);
}

struct Reuses final : SampleSink {
  std::uint64_t begin = 0, end = 0;
  unsigned inside = 0;
  std::vector<AddressReuse> all;
  void sample(const AccessSample& sample) override {
    inside += sample.address >= begin && sample.address < end ? 1 : 0;
    EXPECT_EQ(sample.level, AccessLevel::unknown);
  }
  void reuse(const AddressReuse& reuse) override {
    if (reuse.address >= begin && reuse.address < end) all.push_back(reuse);
  }
  void lost(std::uint64_t) override {}
  // Nanoseconds, the median; 0: most were not used again.
  float typical() {
    std::ranges::sort(all, {}, &AddressReuse::until_next_use);
    return all.empty() ? 0 : all[all.size() / 2].until_next_use;
  }
};

// One thread sweeps until enough was watched, or for half a minute. step: elements.
template <typename T> Reuses sweep(std::size_t bytes, std::size_t step) {
  std::string why;
  auto source = open_sample_source({"perf", 1000}, why);
  Reuses reuses;
  if (!source) {
    ADD_FAILURE() << why;
    return reuses;
  }
  const std::size_t count = bytes / sizeof(T);
  auto data = std::make_unique<T[]>(count);
  reuses.begin = reinterpret_cast<std::uint64_t>(data.get());
  reuses.end = reuses.begin + bytes;
  source->thread_begin(gettid());
  source->drain(reuses);
  const std::uint64_t begin = monotonic_nanoseconds();
  std::uint64_t sum = 0, drained = begin;
  std::size_t at = 0;
  while (monotonic_nanoseconds() - begin < 30'000'000'000 && reuses.all.size() < 9) {
    for (unsigned i = 0; i < 100'000; ++i) {
      sum += static_cast<std::uint64_t>(data[at]);
      at += step;
      if (at >= count) at = 0;
    }
    if (monotonic_nanoseconds() - drained < 20'000'000) continue;
    source->drain(reuses);
    drained = monotonic_nanoseconds();
  }
  source->thread_end(gettid());
  source->drain(reuses);
  EXPECT_NE(sum, 1u);
  return reuses;
}

constexpr float k_millisecond = 1e6f;

TEST(SamplingReuse, SmallArraysComeBackSoon) {
  Reuses lines = sweep<std::uint64_t>(64 << 10, 8);
  ASSERT_GE(lines.all.size(), 9u) << lines.inside;
  EXPECT_GT(lines.typical(), 0);
  EXPECT_LT(lines.typical(), 0.1f * k_millisecond);
}

TEST(SamplingReuse, LargeArraysDoNot) {
  Reuses lines = sweep<std::uint64_t>(256 << 20, 8);
  ASSERT_GE(lines.all.size(), 9u) << lines.inside;
  EXPECT_TRUE(lines.typical() == 0 || lines.typical() > 2 * k_millisecond) << lines.typical();
}

// The neighbours of a short element are no use of it.
TEST(SamplingReuse, ShortElementsAreWatchedAlone) {
  Reuses bytes = sweep<std::uint8_t>(64 << 20, 1);
  ASSERT_GE(bytes.all.size(), 9u) << bytes.inside;
  EXPECT_TRUE(bytes.typical() == 0 || bytes.typical() > 2 * k_millisecond) << bytes.typical();
}

#if defined(__x86_64__)
// rep movs comes to a watched byte again at once, wherever it is served from.
TEST(SamplingReuse, CopiesAreNotWatched) {
  std::string why;
  auto source = open_sample_source({"perf", 1000}, why);
  ASSERT_TRUE(source) << why;
  const std::size_t bytes = 128 << 20;
  auto from = std::make_unique<char[]>(bytes), to = std::make_unique<char[]>(bytes);
  Reuses reuses;
  reuses.begin = reinterpret_cast<std::uint64_t>(from.get());
  reuses.end = reuses.begin + bytes;
  source->thread_begin(gettid());
  source->drain(reuses);
  const std::uint64_t begin = monotonic_nanoseconds();
  while (monotonic_nanoseconds() - begin < 2'000'000'000 && reuses.all.empty())
    for (std::size_t done = 0, piece = bytes / 16; done + piece <= bytes; done += piece) {
      const char* source_piece = from.get() + done;
      char* target = to.get() + done;
      std::size_t count = piece;
      asm volatile("rep movsb" : "+S"(source_piece), "+D"(target), "+c"(count) : : "memory");
      source->drain(reuses);
    }
  source->thread_end(gettid());
  source->drain(reuses);
  EXPECT_GE(reuses.inside, 10u);
  EXPECT_TRUE(reuses.all.empty());
}

// Some processors clear byte by byte while the thread is watched.
TEST(SamplingReuse, ClearingIsNotSlowed) {
  std::string why;
  auto source = open_sample_source({"perf", 1000}, why);
  ASSERT_TRUE(source) << why;
  std::vector<char> cleared(100 << 10);
  std::vector<std::uint64_t> swept((256 << 20) / 8, 1), times; // a watch waits long for its use
  const auto clear = [&] {
    const std::uint64_t begin = monotonic_nanoseconds();
    char* target = cleared.data();
    std::size_t count = cleared.size();
    asm volatile("rep stosb" : "+D"(target), "+c"(count) : "a"(0) : "memory");
    times.push_back(monotonic_nanoseconds() - begin);
  };
  const auto median = [&] {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    return *middle;
  };
  for (unsigned i = 0; i < 1000; ++i)
    clear();
  const std::uint64_t alone = median();
  times.clear();
  Reuses reuses;
  reuses.end = ~std::uint64_t{0};
  source->thread_begin(gettid());
  source->drain(reuses);
  std::uint64_t sum = 0, drained = monotonic_nanoseconds();
  const std::uint64_t begin = drained;
  std::size_t at = 0;
  while (monotonic_nanoseconds() - begin < 1'000'000'000) {
    for (unsigned i = 0; i < 20'000; ++i, at = (at + 8) % swept.size())
      sum += swept[at];
    clear();
    if (monotonic_nanoseconds() - drained < 20'000'000) continue;
    source->drain(reuses);
    drained = monotonic_nanoseconds();
  }
  source->thread_end(gettid());
  source->drain(reuses);
  EXPECT_GT(sum, 0u);
  EXPECT_GE(reuses.inside, 10u);
  EXPECT_LT(median(), 4 * alone) << "slowdown by a watch: " << string_slowdown();
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
