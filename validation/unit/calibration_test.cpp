// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What omptier calibrate measures and in which order, what repeats say, what becomes a figure, and
// that a calibration goes on where it was interrupted.
#include "calibration/node_memory.hpp"
#include "calibration/outcome.hpp"
#include "calibration/processors.hpp"
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
    Task other = quick[i];
    other.visit = 1 - other.visit;
    const auto at = std::ranges::find(quick, other) - quick.begin();
    EXPECT_EQ(std::size_t(at), quick[i].visit == 0 ? i + quick.size() / 4 : i - quick.size() / 4);
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
  EXPECT_EQ(count(Quantity::read), 2 * 8 + 4);
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
  // Nine or eleven are not looked at: whoever looks after each would see a narrow one by chance.
  EXPECT_FALSE(is_settled({100, 101, 100, 120, 100, 101, 100, 101, 101}));
  EXPECT_TRUE(is_settled({100, 101, 100, 120, 100, 101, 100, 101, 101, 100, 100, 101}));
  EXPECT_TRUE(is_settled(std::vector<double>(k_most_repeats, 1)));
}

// Of one visit, and of two that agree.
Result once(Quantity quantity, unsigned threads, double value, double spread = 0.02) {
  return {{quantity, 0, 2, threads, -1}, value, value * (1 - spread / 2),
          value * (1 + spread / 2),      9,     {}};
}
Result result_of(Quantity quantity, unsigned threads, double value, double spread = 0.02) {
  const Result result = once(quantity, threads, value, spread);
  return together(result, result);
}

TEST(Repeats, TwoVisitsAreTrustedIfTheyAgree) {
  const Result first = once(Quantity::read, 2, 9.0), near = once(Quantity::read, 2, 9.3);
  EXPECT_TRUE(is_trusted(together(first, near)));
  EXPECT_NEAR(together(first, near).value, 9.15, 1e-9);
  EXPECT_EQ(together(first, near).repeats, 18u);
  const Result far = once(Quantity::read, 2, 10.5);
  EXPECT_TRUE(is_trusted(far));
  EXPECT_FALSE(is_trusted(together(first, far)));
  const Result none{{Quantity::read, 0, 2, 2, -1}, 0, 0, 0, 0, "node 2: full"};
  EXPECT_EQ(together(first, none).value, 0);
  EXPECT_EQ(together(none, first).problem, "node 2: full");
  Result second = far;
  second.task.visit = 1;
  const auto merged = both_visits(std::vector<Result>{first, once(Quantity::copy, 2, 3), second});
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].visits, (std::vector<double>{9.0, 10.5}));
  EXPECT_TRUE(merged[1].visits.empty());
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

TEST(Outcomes, FewThreadsDoNotStandForAll) {
  const std::vector<CpuGroup> groups = {{{0, 1, 2, 3}, {0, 1, 2, 3}}};
  const auto pairs = outcomes(std::vector<Result>{result_of(Quantity::read, 4, 40e9, 0.3),
                                                  result_of(Quantity::gather, 4, 4e9),
                                                  result_of(Quantity::gather_4, 4, 16e9),
                                                  result_of(Quantity::read, 1, 10e9)},
                              groups);
  EXPECT_EQ(pairs[0].figures.read_bandwidth, 0);
  EXPECT_FALSE(pairs[0].figures.block_is_known);
}

TEST(Outcomes, OneVisitOrAQuotaGivesNoFigure) {
  std::vector<CpuGroup> groups = {{{0, 1}, {0, 1}}};
  const std::vector<Result> results = {once(Quantity::read_latency, 1, 80),
                                       result_of(Quantity::write_latency, 1, 90),
                                       result_of(Quantity::read, 2, 9e9)};
  EXPECT_EQ(outcomes(results, groups)[0].left_out,
            std::vector<std::string>{"read latency (measured once only, --time was too short)"});
  groups[0].quota = 1.5;
  const auto pairs = outcomes(results, groups);
  EXPECT_EQ(pairs[0].figures.read_bandwidth, 0);
  EXPECT_EQ(pairs[0].figures.write_latency, 90);
  EXPECT_EQ(pairs[0].left_out[1], "read bandwidth (a quota of 1.5 of 2 processors)");
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
  EXPECT_EQ(bytes_to_measure(0, 64ull << 30, 100), 100 * k_mebibyte);
  EXPECT_EQ(bytes_to_measure(0, 20 * k_mebibyte, 100), 0u); // of each thread 100 KiB
}

TEST(MeasuredMemory, SharesTheRoomOfANode) {
  const std::uint64_t one = room_on(0, 1, 1).bytes;
  if (one == 0) GTEST_SKIP() << room_on(0, 1, 1).limit;
  EXPECT_NEAR(double(room_on(0, 2, 2).bytes), double(one) / 2, double(one) / 4);
  EXPECT_FALSE(room_on(999, 1, 1).node_is_shown);
}

TEST(MeasuredMemory, OnlyWhatIsUsedIsVerified) {
  MeasuredMemory memory;
  if (const std::string why = memory.take(0, 4 << 20); !why.empty()) GTEST_SKIP() << why;
  constexpr std::size_t k_used = (1 << 20) / sizeof(std::uint64_t);
  MeasuredMemory::touch(memory.words().first(k_used));
  const std::string whole = memory.verify();
  memory.keep_first(k_used);
  const std::string used = memory.verify();
  if (used.find("move_pages") != used.npos) GTEST_SKIP() << used;
  EXPECT_EQ(used, "");
  // In small pages the rest is not there, which does not mean that the node is full.
  EXPECT_EQ(whole.find("full"), whole.npos) << whole;
}

// A folder of files as the kernel shows them.
class Shown : public testing::Test {
protected:
  void SetUp() override { std::filesystem::create_directories(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  void write_cpu(unsigned cpu, const std::string& siblings) {
    const std::string folder = "devices/system/cpu/cpu" + std::to_string(cpu);
    write(folder + "/topology/thread_siblings_list", siblings);
    write(folder + "/cache/index2/size", "1024K");
    write(folder + "/cache/index2/shared_cpu_list", siblings);
    write(folder + "/cache/index3/size", "8M");
    write(folder + "/cache/index3/shared_cpu_list", "0-7");
  }
  double quota() const { return cpu_quota(root_ / "groups", root_); }
  std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / ("omptier-shown-" + std::to_string(::getpid()));
};

TEST_F(Shown, CoresComeBeforeTheirSecondHardwareThreads) {
  for (unsigned cpu = 0; cpu < 8; ++cpu) // neighbours are threads of one core
    write_cpu(cpu, std::to_string(cpu / 2 * 2) + "-" + std::to_string(cpu / 2 * 2 + 1));
  const std::vector<unsigned> cpus = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto spread = [&](std::size_t count, bool alone) {
    return spread_over_cores(cpus, count, alone, root_);
  };
  EXPECT_EQ(spread(2, false), (std::vector<unsigned>{0, 4}));
  EXPECT_EQ(spread(4, true), (std::vector<unsigned>{0, 2, 4, 6}));
  EXPECT_EQ(spread(6, false), (std::vector<unsigned>{0, 2, 4, 6, 1, 3}));
  EXPECT_EQ(spread(6, true), (std::vector<unsigned>{0, 2, 4, 6, 3, 5}));
  EXPECT_EQ(spread(8, true), (std::vector<unsigned>{0, 2, 4, 6, 3, 5, 7}));
  EXPECT_EQ(spread(8, false).size(), 8u);
  EXPECT_EQ(spread_over_cores({0, 1}, 2, true, root_), (std::vector<unsigned>{0, 1})); // one core
  EXPECT_EQ(spread_over_cores({8, 9}, 2, true, root_), (std::vector<unsigned>{8, 9})); // not shown
  EXPECT_EQ(cache_bytes(cpus, root_), std::uint64_t{12} << 20);
  EXPECT_EQ(cache_bytes({3}, root_), std::uint64_t{9} << 20);
}

TEST_F(Shown, QuotasOfGroupsAndThoseAboveThem) {
  EXPECT_EQ(quota(), 0);
  write("groups", "0::/job/step");
  write("job/step/cpu.max", "max 100000");
  EXPECT_EQ(quota(), 0);
  write("job/cpu.max", "250000 100000");
  EXPECT_EQ(quota(), 2.5);
  write("groups", "5:memory:/job\n4:cpu,cpuacct:/a");
  EXPECT_EQ(quota(), 0);
  write("cpu,cpuacct/a/cpu.cfs_quota_us", "-1");
  write("cpu,cpuacct/a/cpu.cfs_period_us", "100000");
  EXPECT_EQ(quota(), 0);
  write("cpu,cpuacct/a/cpu.cfs_quota_us", "50000");
  EXPECT_EQ(quota(), 0.5);
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
    auto file = ResultFile::open(path_, "this machine", "2026-05-31");
    ASSERT_TRUE(file) << file.error();
    EXPECT_TRUE(file->append(one));
    EXPECT_TRUE(file->append(two));
    EXPECT_NE(ResultFile::open(path_, "this machine", "2026-05-31").error().find("another omptier"),
              std::string::npos);
  }
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 3); // while it is written
  {
    auto file = ResultFile::open(path_, "this machine", "2026-05-31");
    ASSERT_EQ(file->known(), 1u);
    EXPECT_EQ(file->find(one.task)->value, one.value);
    EXPECT_EQ(file->find(one.task)->high, one.high);
    EXPECT_FALSE(file->find(two.task));
    EXPECT_TRUE(file->append(two));
  }
  const auto later = ResultFile::open(path_, "this machine", "2026-06-01");
  EXPECT_EQ(later->known(), 2u);
  EXPECT_EQ(later->begun(), "2026-05-31");
}

TEST_F(Kept, ResultsOfAnotherMachineAreDropped) {
  ResultFile::open(path_, "this machine", "2026-05-31")->append(once(Quantity::read, 2, 9e9));
  EXPECT_EQ(ResultFile::open(path_, "another", "2026-06-01")->known(), 0u);
  EXPECT_EQ(ResultFile::open(path_, "this machine", "2026-05-31")->known(), 0u);
  EXPECT_FALSE(ResultFile::open("/nonexistent/x", "this machine", ""));
}

TEST_F(Kept, OtherFilesAreLeftAlone) {
  std::ofstream(path_) << "a thesis\n";
  EXPECT_NE(
      ResultFile::open(path_, "this machine", "").error().find("no file of omptier calibrate"),
      std::string::npos);
  std::string text;
  std::getline(std::ifstream(path_) >> std::ws, text);
  EXPECT_EQ(text, "a thesis");
  std::ofstream(path_) << "{\"omptier_cal"; // was interrupted very early
  EXPECT_TRUE(ResultFile::open(path_, "this machine", ""));
}

TEST_F(Kept, LinesThatAreNoResultsEndIt) {
  Result moved = result_of(Quantity::move_huge, 1, 50e3);
  moved.task.other = 3;
  moved.task.visit = 1;
  EXPECT_EQ(result_in(line_of(moved))->task, moved.task); // with its visit
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
