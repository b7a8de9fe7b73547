// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What omptier calibrate measures and in which order, what repeats say, what becomes a figure, and
// that a calibration goes on where it was interrupted.
#include "calibration/node_memory.hpp"
#include "calibration/outcome.hpp"
#include "calibration/repeats.hpp"
#include "calibration/result_file.hpp"
#include "calibration/task_list.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

namespace omptier {
namespace {

// Two sockets, each with DRAM and a node without processors: nodes 0 and 1, 2 and 3.
Platform two_sockets() {
  Platform platform;
  for (unsigned number = 0; number < 4; ++number) {
    Node node;
    node.number = number;
    node.capacity = std::uint64_t{1} << 30;
    if (number < 2) node.cpus = {2 * number, 2 * number + 1};
    for (unsigned socket = 0; socket < 2; ++socket)
      node.views.push_back({{2 * socket, 2 * socket + 1}, {}, number % 2 == socket ? 10u : 20u});
    platform.nodes.push_back(node);
  }
  return platform;
}
const std::vector<unsigned> k_all_cpus = {0, 1, 2, 3};
const std::vector<unsigned> k_all_nodes = {0, 1, 2, 3};

TEST(TaskList, NearestPairsAndWhatDecisionsNeedComeFirst) {
  const Platform platform = two_sockets();
  const auto groups = cpu_groups(platform, k_all_cpus);
  ASSERT_EQ(groups.size(), 2u);
  const auto quick = make_task_list(platform, groups, k_all_nodes, true);
  std::set<std::pair<unsigned, unsigned>> pairs;
  for (std::size_t i = 0; i < quick.size(); ++i) {
    pairs.insert({quick[i].group, quick[i].node});
    EXPECT_EQ(quick[i].node % 2 == quick[i].group, i < quick.size() / 2) << i;
    EXPECT_EQ(std::ranges::count(quick, quick[i]), 1) << i;
  }
  EXPECT_EQ(pairs.size(), 8u);
  const auto full = make_task_list(platform, groups, k_all_nodes, false);
  EXPECT_TRUE(std::equal(quick.begin(), quick.end(), full.begin()));
  const auto count = [&](Quantity quantity) {
    return std::ranges::count(full, quantity, &Task::quantity);
  };
  EXPECT_EQ(count(Quantity::loaded_latency), 4); // two threads, from the nearest processors
  EXPECT_EQ(count(Quantity::read_both), 2);      // nodes 0 with 2 and 1 with 3
  EXPECT_EQ(count(Quantity::move_small), 12);
  EXPECT_EQ(count(Quantity::read), 8 + 4);
}

TEST(TaskList, OfOneProcessorAndNode) {
  const Platform platform = two_sockets();
  const auto groups = cpu_groups(platform, {3});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].usable, std::vector<unsigned>{3});
  EXPECT_EQ(groups[0].all, (std::vector<unsigned>{2, 3}));
  for (const Task& task : make_task_list(platform, groups, {1}, false)) {
    EXPECT_EQ(task.threads, 1u);
    EXPECT_NE(task.quantity, Quantity::loaded_latency);
    EXPECT_LT(task.other, 0);
  }
  EXPECT_TRUE(make_task_list(platform, cpu_groups(platform, {}), k_all_nodes, false).empty());
}

TEST(TaskList, ThreadsDoubleUpToAll) {
  EXPECT_EQ(thread_counts(1), std::vector<unsigned>{1});
  EXPECT_EQ(thread_counts(6), (std::vector<unsigned>{1, 2, 4, 6}));
  EXPECT_EQ(thread_counts(8), (std::vector<unsigned>{1, 2, 4, 8}));
}

TEST(TaskList, TimeLeftIsByWhatTasksTook) {
  EXPECT_EQ(seconds_left(10, 0, 0, 2), 20);
  EXPECT_EQ(seconds_left(10, 4, 2, 100), 3);
  EXPECT_EQ(seconds_left(10, 10, 5, 1), 0);
}

TEST(Repeats, MedianWithItsInterval) {
  const Median six = median_of({6, 1, 5, 2, 4, 3});
  EXPECT_EQ(six.value, 3.5);
  EXPECT_EQ(six.low, 1); // 6 tosses that all fall alike: 3 %
  EXPECT_EQ(six.high, 6);
  const Median nine = median_of({1, 2, 3, 4, 5, 6, 7, 8, 900});
  EXPECT_EQ(nine.value, 5);
  EXPECT_EQ(nine.low, 2);
  EXPECT_EQ(nine.high, 8);
  EXPECT_EQ(median_of({}).value, 0);
  std::vector<double> rising;
  for (int i = 1; i <= 24; ++i)
    rising.push_back(i);
  EXPECT_EQ(median_of(rising).low, 7); // tables of the sign test: 6 outside on each side
  EXPECT_EQ(median_of(rising).high, 18);
}

TEST(Repeats, EndWhenTheIntervalIsNarrow) {
  EXPECT_FALSE(is_settled({100, 100, 100, 100, 100}));
  EXPECT_TRUE(is_settled({100, 101, 100, 102, 100, 101}));
  EXPECT_FALSE(is_settled({100, 101, 100, 120, 100, 101}));
  EXPECT_TRUE(is_settled({100, 101, 100, 120, 100, 101, 100, 101, 101})); // one was disturbed
  EXPECT_TRUE(is_settled(std::vector<double>(k_most_repeats, 1)));
}

Result result_of(Quantity quantity, unsigned threads, double value, double spread = 0.02) {
  return {{quantity, 0, 2, threads, -1}, value, value * (1 - spread / 2),
          value * (1 + spread / 2),      9,     {}};
}

TEST(Outcomes, OnlyWhatIsTrustedBecomesAFigure) {
  const std::vector<CpuGroup> groups = {{{0, 1}, {0, 1}}};
  const std::vector<Result> results = {
      result_of(Quantity::read_latency, 1, 80),
      result_of(Quantity::read, 2, 9e9),
      result_of(Quantity::write, 2, 5e9, 0.3),
      result_of(Quantity::copy, 2, 6e9),
      result_of(Quantity::gather, 2, 2e9),
      result_of(Quantity::gather_4, 2, 7.6e9),
      result_of(Quantity::gather_8, 2, 7.7e9),
      result_of(Quantity::read, 1, 10e9),
      {{Quantity::write_latency, 0, 2, 1, -1}, 0, 0, 0, 0, "node 2: full"},
  };
  const auto pairs = outcomes(results, groups);
  ASSERT_EQ(pairs.size(), 1u);
  const PairOutcome& pair = pairs[0];
  EXPECT_EQ(pair.figures.read_latency, 80);
  EXPECT_EQ(pair.figures.read_bandwidth, 10e9); // one thread was faster than two
  EXPECT_EQ(pair.figures.write_bandwidth, 0);
  EXPECT_EQ(pair.figures.mixed_bandwidth, 6e9);
  EXPECT_EQ(pair.figures.block, 256);
  EXPECT_TRUE(pair.figures.block_is_known);
  EXPECT_EQ(pair.left_out, std::vector<std::string>{"write bandwidth (interval 30 % wide)"});
  EXPECT_EQ(pair.problem, "node 2: full");
  const auto views = views_of(pairs, groups);
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].node, 2u);
  EXPECT_EQ(views[0].cpus, groups[0].all);
}

TEST(Outcomes, BandwidthOfSomeProcessorsIsNotTheMemorys) {
  const std::vector<CpuGroup> groups = {{{0, 1, 2, 3}, {0}}};
  const auto pairs = outcomes(std::vector<Result>{result_of(Quantity::read_latency, 1, 80),
                                                  result_of(Quantity::read, 1, 9e9)},
                              groups);
  EXPECT_EQ(pairs[0].figures.read_bandwidth, 0);
  EXPECT_EQ(pairs[0].figures.read_latency, 80);
  EXPECT_EQ(pairs[0].left_out, std::vector<std::string>{"read bandwidth (by 1 of 4 processors)"});
  EXPECT_TRUE(views_of(outcomes({}, groups), groups).empty());
}

TEST(Outcomes, BlockIsTheLargestGroupThatTakesOneAccess) {
  const auto block = [](std::vector<double> gathers) { return block_of(gathers, 4); };
  EXPECT_EQ(block({3, 3.5, 3.9, 4}), 64);
  EXPECT_EQ(block({1, 1, 1, 1}), 0);          // all far from 4: something else decides
  EXPECT_EQ(block({0.5, 2, 2.1, 2}), 0);      // page walks, which neighbours share
  EXPECT_EQ(block({1.5, 2.9, 3.1, 3.2}), 64); // neighbouring lines are prefetched
  EXPECT_EQ(block({1, 3.9, 4, 4}), 256);
  EXPECT_EQ(block({1, 3.9, 7.5, 7.6}), 512);
  EXPECT_EQ(block({1, 3.9, 0, 0}), 256);
  EXPECT_EQ(block({1, 0, 0, 0}), 0);
  EXPECT_EQ(block({0, 4, 4, 4}), 0);
  EXPECT_EQ(block_of(std::vector<double>{1, 4}, 0), 0);
}

TEST(MeasuredMemory, IsWellOverTheCachesAndASmallPartOfTheNode) {
  constexpr std::uint64_t k_mebibyte = 1 << 20;
  EXPECT_EQ(bytes_to_measure(32 * k_mebibyte, 64ull << 30), 256 * k_mebibyte);
  EXPECT_EQ(bytes_to_measure(0, 64ull << 30), 64 * k_mebibyte);
  EXPECT_EQ(bytes_to_measure(32 * k_mebibyte, 200 * k_mebibyte), 100 * k_mebibyte);
  EXPECT_EQ(bytes_to_measure(32 * k_mebibyte, 100 * k_mebibyte), 0u); // 50 beside caches of 32
  EXPECT_EQ(bytes_to_measure(0, 0), 0u);
}

class Kept : public testing::Test {
protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_ =
      std::filesystem::temp_directory_path() / ("omptier-kept-" + std::to_string(::getpid()));
};

TEST_F(Kept, ResultsAreThereAfterAnInterrupt) {
  const Result one = result_of(Quantity::read, 2, 9e9), two = result_of(Quantity::copy, 2, 6e9);
  {
    auto file = ResultFile::open(path_, "this machine");
    ASSERT_TRUE(file) << file.error();
    EXPECT_TRUE(file->append(one));
    EXPECT_TRUE(file->append(two));
    EXPECT_NE(ResultFile::open(path_, "this machine").error().find("another omptier"),
              std::string::npos);
  }
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 3); // while it is written
  {
    auto file = ResultFile::open(path_, "this machine");
    ASSERT_EQ(file->known(), 1u);
    EXPECT_EQ(file->find(one.task)->value, one.value);
    EXPECT_EQ(file->find(one.task)->high, one.high);
    EXPECT_FALSE(file->find(two.task));
    EXPECT_TRUE(file->append(two));
  }
  EXPECT_EQ(ResultFile::open(path_, "this machine")->known(), 2u);
  EXPECT_EQ(ResultFile::open(path_, "another")->known(), 0u);
  EXPECT_EQ(ResultFile::open(path_, "this machine")->known(), 0u);
  EXPECT_FALSE(ResultFile::open("/nonexistent/x", "this machine"));
}

TEST_F(Kept, LinesThatAreNoResultsEndIt) {
  Result moved = result_of(Quantity::move_huge, 1, 50e3);
  moved.task.other = 3;
  EXPECT_EQ(result_in(line_of(moved))->task, moved.task);
  const Result failed{{Quantity::read, 0, 1, 1, -1}, 0, 0, 0, 0, "node 1: full"};
  EXPECT_EQ(result_in(line_of(failed))->problem, "node 1: full");
  const std::string line = line_of(moved);
  for (
      const char* wrong :
      {"", "{}", "[1]", "null", R"({"quantity": "read"})",
       R"({"quantity": "reed", "group": 0, "node": 0, "threads": 1, "problem": "x"})",
       R"({"quantity": "read", "group": 0.5, "node": 0, "threads": 1, "problem": "x"})",
       R"({"quantity": "read", "group": 0, "node": -1, "threads": 1, "problem": "x"})",
       R"({"quantity": "read", "group": 0, "node": 0, "threads": 1})",
       R"({"quantity": "read", "group": 0, "node": 0, "threads": 1, "value": 5, "low": 6, "high": 7, "repeats": 6})"})
    EXPECT_FALSE(result_in(wrong)) << wrong;
}

} // namespace
} // namespace omptier
