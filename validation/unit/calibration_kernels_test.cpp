// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accesses that calibrate times do what they say, and a whole measurement gives a plausible
// value or says why not.
#include "calibration/kernels.hpp"
#include "calibration/measure.hpp"
#include "calibration/node_memory.hpp"
#include "calibration/processors.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

namespace omptier {
namespace {

class Words : public testing::Test {
protected:
  static constexpr std::size_t k_words = 1 << 16; // 512 KiB
  void SetUp() override {
    words_.resize(k_words + k_words_of_line);
    auto address = reinterpret_cast<std::uintptr_t>(words_.data());
    stretch_.words = {words_.data() + (64 - address % 64) % 64 / 8, k_words};
    std::iota(stretch_.words.begin(), stretch_.words.end(), std::uint64_t{0});
  }
  std::vector<std::uint64_t> words_;
  Stretch stretch_;
};

TEST_F(Words, LinksAreOneCycleThroughAllLines) {
  for (const std::size_t size : {k_words, k_words / 2, k_words / 2 + 4096, std::size_t{512}}) {
    link_lines(stretch_.words.first(size));
    EXPECT_TRUE(is_one_cycle(stretch_.words.first(size))) << size;
  }
  stretch_.words[0] = 0;
  EXPECT_FALSE(is_one_cycle(stretch_.words));
}

TEST_F(Words, NearlyAllLinesAreLinkedWhateverTheirNumber) {
  for (std::size_t lines = 1; lines <= k_words / k_words_of_line; lines += 1 + lines / 7) {
    link_lines(stretch_.words.first(lines * k_words_of_line));
    EXPECT_TRUE(is_one_cycle(stretch_.words.first(lines * k_words_of_line))) << lines;
    EXPECT_GT(17 * linked_lines(lines * k_words_of_line), 16 * lines) << lines;
  }
}

TEST_F(Words, NeighboursInTheCycleLieFarApart) {
  link_lines(stretch_.words);
  std::size_t near = 0, at = 0;
  for (int step = 0; step < 4096; ++step) {
    const std::size_t next = stretch_.words[at];
    near += std::max(at, next) - std::min(at, next) <= 16 * k_words_of_line;
    at = next;
  }
  EXPECT_LT(near, 100u);
}

TEST_F(Words, BothChasesFollowTheLinksAndKeepThem) {
  link_lines(stretch_.words);
  Stretch other = stretch_;
  for (int block = 0; block < 3; ++block)
    EXPECT_EQ(chase_block(stretch_), atomic_chase_block(other));
  EXPECT_EQ(stretch_.at, other.at);
  EXPECT_NE(stretch_.at, 0u);
  EXPECT_TRUE(is_one_cycle(stretch_.words));
}

TEST_F(Words, ReadsTakeEveryLineOnce) {
  std::size_t bytes = 0;
  while (bytes < k_words * 8)
    bytes += read_block(stretch_);
  EXPECT_EQ(bytes, k_words * 8);
  std::uint64_t wanted = 0;
  for (std::size_t at = 0; at < k_words; at += k_words_of_line)
    wanted += at;
  EXPECT_EQ(stretch_.result, wanted);
  EXPECT_EQ(strided_block(stretch_) * 4, read_block(stretch_));
}

TEST_F(Words, WritesStoreWholeLinesAndCopiesCopy) {
  stretch_.words[k_words - 1] = 1;
  for (std::size_t bytes = 0; bytes < k_words * 8;)
    bytes += write_block(stretch_);
  for (std::size_t at = 0; at < k_words; at += k_words_of_line)
    for (std::size_t word = 1; word < k_words_of_line; ++word)
      ASSERT_EQ(stretch_.words[at + word], stretch_.words[at]) << at;
  std::iota(stretch_.words.begin(), stretch_.words.end(), std::uint64_t{1});
  stretch_.at = 0;
  for (std::size_t bytes = 0; bytes < k_words * 8;)
    bytes += copy_block(stretch_);
  for (std::size_t at = 0; at < k_words / 2; at += k_words_of_line)
    ASSERT_EQ(stretch_.words[k_words / 2 + at], stretch_.words[at]) << at;
  std::iota(stretch_.words.begin() + k_words / 2, stretch_.words.end(), std::uint64_t{7});
  for (std::size_t bytes = 0; bytes < k_words * 8;)
    bytes += copy_block(stretch_); // and back
  for (std::size_t at = 0; at < k_words / 2; at += k_words_of_line)
    ASSERT_EQ(stretch_.words[at], at + 7) << at;
}

TEST_F(Words, RoundsOfStridedReadsComeToLinesOfTheirOwn) {
  constexpr std::size_t k_blocks = 16 + 3 * 15; // rounds after the first end a block earlier
  for (std::size_t offset = 0; offset < 4; ++offset) {
    for (std::size_t line = 0; line < k_words / k_words_of_line; ++line)
      stretch_.words[line * k_words_of_line] = line % 4 == offset ? 1 : 0;
    stretch_.result = stretch_.at = 0;
    for (std::size_t block = 0; block < k_blocks; ++block)
      strided_block(stretch_);
    EXPECT_EQ(stretch_.result, offset == 0 ? 16 * 128u : 15 * 128u) << offset;
  }
}

TEST_F(Words, GathersAndTilesComeToEveryPlaceOnce) {
  for (const std::size_t lines : {1, 4, 8, 16}) {
    stretch_.result = stretch_.at = 0;
    for (std::size_t bytes = 0; bytes < k_words * 8;)
      bytes += gather_block(stretch_, lines);
    std::uint64_t wanted = 0;
    for (std::size_t at = 0; at < k_words; at += k_words_of_line)
      wanted += at;
    EXPECT_EQ(stretch_.result, wanted) << lines;
  }
  const std::uint64_t all = stretch_.result;
  stretch_.result = stretch_.at = 0;
  for (std::size_t bytes = 0; bytes < k_words * 8;)
    bytes += tiled_block(stretch_);
  EXPECT_EQ(stretch_.result, all);
}

CpuGroup first_processor() {
  const std::vector<unsigned> allowed = allowed_processors();
  return {allowed, {allowed.front()}};
}

TEST(Measure, GivesAValueWithItsInterval) {
  MeasureOptions options;
  options.slice = 0.002;
  options.most_slice = 0.01;
  options.most_repeats = 6;
  Measurements measurements(options);
  const CpuGroup group = first_processor();
  for (const Quantity quantity :
       {Quantity::read_latency, Quantity::write, Quantity::read_latency}) {
    const Result result = measurements.measure({quantity, 0, 0, 1, -1}, group);
    if (!result.problem.empty()) {
      EXPECT_TRUE(result.problem.starts_with("node 0: ")) << result.problem;
      continue;
    }
    EXPECT_EQ(result.repeats, 6u);
    EXPECT_LE(result.low, result.value);
    EXPECT_LE(result.value, result.high);
    if (is_time(quantity)) {
      EXPECT_GT(result.value, 1);
      EXPECT_LT(result.value, 1e6);
    } else {
      EXPECT_GT(result.value, 1e6);
    }
  }
}

TEST(Measure, ANodeThatIsNotThereIsNamed) {
  const Result result =
      Measurements({}).measure({Quantity::read, 0, 999, 1, -1}, first_processor());
  EXPECT_EQ(result.value, 0);
  EXPECT_TRUE(result.problem.starts_with("node 999: ")) << result.problem;
}

TEST(Measure, EndsWhenItIsStopped) {
  MeasureOptions options;
  options.slice = 0.001;
  options.is_stopped = [] { return true; };
  const Result result =
      Measurements(options).measure({Quantity::read, 0, 0, 1, -1}, first_processor());
  EXPECT_EQ(result.value, 0);
  EXPECT_EQ(result.repeats, 0u);
}

TEST(Measure, AProcessorThatMayNotBeUsedIsNamed) {
  const CpuGroup group = {{65000}, {65000}};
  const Result result = Measurements({}).measure({Quantity::read, 0, 0, 1, -1}, group);
  EXPECT_NE(result.problem.find("processor 65000"), std::string::npos) << result.problem;
}

} // namespace
} // namespace omptier
