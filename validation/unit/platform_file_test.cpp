// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Platform files: what is written reads the same, what is wrong is refused in one line, the machine
// is recognised, and measured figures go before the firmware's.
#include "platform/classification.hpp"
#include "platform/describe.hpp"
#include "platform/fingerprint.hpp"
#include "platform/platform_file.hpp"
#include "platform/usual_figures.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace omptier {
namespace {

constexpr std::uint64_t k_gibibyte = std::uint64_t{1} << 30;

PlatformFile sample() {
  PlatformFile file{"omptier 1.0", "2026-05-31", {"A Processor", {}}, {}};
  file.machine.nodes = {{0, {0, 1, 2, 3}, 64 * k_gibibyte}, {2, {}, 128 * k_gibibyte}};
  MeasuredView dram{{0, 1, 2, 3}, 0, {}};
  dram.figures = {80.5, 82, 180e9, 140e9};
  MeasuredView nvm{{0, 1, 2, 3}, 2, {}};
  nvm.figures = {300, 0, 40e9, 12e9, 256, 20e9, true};
  nvm.earlier = {{&Figures::write_bandwidth, "2026-05-01"}};
  file.figures = {dram, nvm};
  return file;
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = write_platform_file(sample());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from << " is not in\n" << text;
  return text.replace(at, from.size(), to);
}

TEST(PlatformFile, WhatIsWrittenReadsTheSame) {
  const std::string text = write_platform_file(sample());
  const auto read = parse_platform_file(text, "m.json");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(write_platform_file(*read), text);
  EXPECT_EQ(read->machine.nodes[1].number, 2u);
  EXPECT_EQ(read->figures[0].cpus, (std::vector<unsigned>{0, 1, 2, 3}));
  EXPECT_EQ(read->figures[1].figures.block, 256);
  EXPECT_EQ(read->figures[1].figures.write_latency, 0);
  EXPECT_FALSE(read->figures[0].figures.block_is_known);
  ASSERT_EQ(read->figures[1].earlier.size(), 1u);
  EXPECT_EQ(read->figures[1].earlier[0].figure, &Figures::write_bandwidth);
  EXPECT_EQ(read->figures[1].earlier[0].measured, "2026-05-01");
}

TEST(PlatformFile, WhatIsWrongIsRefusedInOneLine) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "no platform file"},
      {"{", "no platform file"},
      {"[]", "must be an object"},
      {"\x80\xff", "no platform file"},
      {changed("\"omptier_platform\": 1", "\"omptier_platform\": 2"), "of version 2"},
      {changed("\"measured\"", "\"measurde\""), "unknown field \"measurde\""},
      {changed("\"made_by\": \"omptier 1.0\",", ""), "lacks \"made_by\""},
      {changed("A Processor", "A\\nProcessor"), "must be one line"},
      {changed("\"0-3\"", "\"3-0\""), "ascending"},
      {changed("\"0-3\"", "\"0-4294967295\""), "ascending"},
      {changed("\"0-3\"", "\"0,0\""), "ascending"},
      {changed("\"0-3\"", "7"), "must be a text"},
      {changed("80.5", "-1"), "must be a number from 1 to"},
      {changed("80.5", "0.9"), "must be a number from 1 to"},
      {changed("80.5", "1e300"), "must be a number from 1 to"},
      {changed("80.5", "\"80\""), "must be a number from 1 to"},
      {changed("180000000000.0", "1"), "must be a number from 1000 to"},
      {changed("\"block\": 256.0", "\"block\": 0.5"), "must be a number from 1 to"},
      {changed("\"write_bandwidth\": \"2026", "\"write_latency\": \"2026"), "no figure here"},
      {changed("\"write_bandwidth\": \"2026-05-01\"", "\"write_bandwidth\": 1"), "a text"},
      {changed("\"cpus\": \"\"", "\"cpus\": \"3\""), "belongs to two nodes"},
      {changed("\"cpus\": \"0-3\",\n   \"node\": 2", "\"cpus\": \"0-4\",\n   \"node\": 2"),
       "no such processors"},
      {changed("\"node\": 2,\n   \"read", "\"node\": 0,\n   \"read"), "CPUs 0-3 twice"},
      {changed("80.5", "[[[[[[[[]]]]]]]]"), "too deeply"},
      {changed("80.5", "1e999"), "no platform file"},
      {changed("\"node\": 2,\n   \"read", "\"node\": 3,\n   \"read"), "no node 3"},
      {changed("137438953472", "0"), "\"bytes\" must be"},
  };
  for (const auto& [text, why] : cases) {
    const auto read = parse_platform_file(text, "m.json");
    ASSERT_FALSE(read) << text;
    EXPECT_TRUE(read.error().starts_with("m.json: ")) << read.error();
    EXPECT_NE(read.error().find(why), std::string::npos) << read.error();
    EXPECT_EQ(read.error().find('\n'), std::string::npos) << read.error();
  }
  EXPECT_NE(read_platform_file("/nonexistent").error().find("cannot be read"), std::string::npos);
  EXPECT_NE(read_platform_file("/").error().find("no regular file"), std::string::npos);
}

TEST(PlatformFile, HostileOnesCostLittle) {
  std::string fields = "{\"a0\": 0";
  for (int i = 1; i < 200'000; ++i)
    fields += ",\"a" + std::to_string(i) + "\": 0";
  EXPECT_NE(parse_platform_file(fields + "}", "m.json").error().find("too many fields"),
            std::string::npos);
  PlatformFile file = sample();
  file.machine.nodes[0].cpus.resize(1 << 15);
  for (unsigned cpu = 0; cpu < file.machine.nodes[0].cpus.size(); ++cpu)
    file.machine.nodes[0].cpus[cpu] = cpu;
  file.figures[0].cpus = file.machine.nodes[0].cpus;
  const MeasuredView view = file.figures[0];
  file.figures.assign(40, view);
  EXPECT_NE(parse_platform_file(write_platform_file(file), "m.json").error().find("figures 32"),
            std::string::npos); // 2^20 processors in all lists
}

TEST(PlatformFile, AnotherMachinesIsNotReadFurther) {
  const MachineKey here = {"Another", sample().machine.nodes};
  const auto read = parse_platform_file(changed("80.5", "-1"), "m.json", &here);
  EXPECT_NE(read.error().find("is of another machine"), std::string::npos) << read.error();
}

TEST(PlatformFile, OfMachinesWithManyNodesIsRead) {
  PlatformFile file = sample();
  file.machine.nodes.clear();
  file.figures.clear();
  constexpr unsigned k_nodes = 65;
  for (unsigned node = 0; node < k_nodes; ++node)
    file.machine.nodes.push_back({node, {node}, k_gibibyte});
  for (unsigned node = 0; node < k_nodes; ++node)
    for (unsigned cpu = 0; cpu < k_nodes; ++cpu)
      file.figures.push_back({{cpu}, node, sample().figures[0].figures});
  const auto read = parse_platform_file(write_platform_file(file), "m.json");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->figures.size(), std::size_t{k_nodes * k_nodes});
}

TEST(PlatformFile, KeepsWhatOnlyAnEarlierOneHas) {
  const PlatformFile before = sample();
  PlatformFile now = sample();
  now.measured = "2026-06-30";
  now.figures.pop_back();
  now.figures[0].figures = {81, 0, 170e9, 140e9};
  EXPECT_EQ(keep_earlier(now, before), 6u);
  EXPECT_EQ(now.figures[0].figures.read_latency, 81);
  EXPECT_EQ(now.figures[0].figures.write_latency, 82);
  ASSERT_EQ(now.figures[0].earlier.size(), 1u);
  EXPECT_EQ(now.figures[0].earlier[0].measured, "2026-05-31");
  ASSERT_EQ(now.figures.size(), 2u);
  EXPECT_TRUE(now.figures[1].figures.block_is_known);
  EXPECT_EQ(now.figures[1].earlier.size(), 5u);
  EXPECT_EQ(std::ranges::count(now.figures[1].earlier, "2026-05-01", &EarlierFigure::measured), 1);
  EXPECT_EQ(keep_earlier(now, before), 0u);
  PlatformFile other = now;
  other.machine.processor = "Another";
  other.figures.clear();
  EXPECT_EQ(keep_earlier(other, before), 0u);
}

TEST(MachineKey, IsTheSameFromBootToBoot) {
  const MachineKey there = sample().machine;
  MachineKey here = there;
  here.nodes[0].bytes -= k_gibibyte / 2;
  EXPECT_EQ(difference_between(there, here), "");
  EXPECT_EQ(platform_file_name(there), platform_file_name(here));
  here.nodes[0].bytes = 48 * k_gibibyte;
  EXPECT_NE(difference_between(there, here).find("node 0 has 64.0 GiB"), std::string::npos)
      << difference_between(there, here);
  // Found where it is, so that the difference is said.
  EXPECT_EQ(platform_file_name(there), platform_file_name(here));
  here = there;
  here.processor = "Another";
  EXPECT_NE(platform_file_name(there), platform_file_name(here));
  EXPECT_NE(difference_between(there, here).find("processor"), std::string::npos);
  here = there;
  here.nodes[1].cpus = {4};
  EXPECT_NE(difference_between(there, here).find("no CPUs"), std::string::npos);
  EXPECT_EQ(platform_file_name(there), platform_file_name(here));
  here.nodes.pop_back();
  EXPECT_NE(platform_file_name(there), platform_file_name(here));
  EXPECT_NE(difference_between(there, here).find("2 memory nodes"), std::string::npos);
}

TEST(MeasuredFigures, GoBeforeTheFirmwares) {
  MachineFacts facts;
  NodeFacts dram{0, 64 * k_gibibyte, {0, 1, 2, 3}, {}, MemoryOrigin::unknown, {}, {}};
  dram.views = {{{0, 1, 2, 3}, {100, 100, 100e9, 100e9}, 10}, {{4, 5}, {150, 150, 50e9, 50e9}, 20}};
  NodeFacts nvm{2, 128 * k_gibibyte, {}, {}, MemoryOrigin::unknown, {}, {}};
  nvm.views = {{{0, 1, 2, 3}, {310, 310, 35e9, 11e9}, 17}};
  NodeFacts other{3, k_gibibyte, {}, {}, MemoryOrigin::unknown, {}, {}};
  facts.nodes = {dram, nvm, other};
  const auto measured = apply_measured(sample(), facts);
  ASSERT_EQ(measured.size(), 2u);
  EXPECT_EQ(measured[0].number, 0u);
  EXPECT_FALSE(measured[0].in_part);
  EXPECT_EQ(measured[1].number, 2u);
  EXPECT_TRUE(measured[1].in_part);           // no write latency
  ASSERT_EQ(facts.nodes[0].views.size(), 2u); // of processors that were not measured, too
  EXPECT_EQ(facts.nodes[0].views[0].figures.read_latency, 80.5);
  EXPECT_EQ(facts.nodes[0].views[0].distance, 10u);
  EXPECT_EQ(facts.nodes[0].views[1].figures.read_latency, 150);
  ASSERT_EQ(facts.nodes[1].views.size(), 1u);
  EXPECT_EQ(facts.nodes[1].views[0].figures.write_latency, 310); // was not measured
  EXPECT_EQ(facts.nodes[1].views[0].figures.write_bandwidth, 12e9);
  EXPECT_TRUE(facts.nodes[2].views.empty());
}

TEST(MeasuredFigures, CoresThatWriteSlowlyMakeNoNvm) {
  MachineFacts facts;
  facts.nodes.push_back({0, 64 * k_gibibyte, {0, 1, 2, 3}, {}, MemoryOrigin::unknown, {}, {}});
  facts.nodes.push_back({2, 128 * k_gibibyte, {}, {}, MemoryOrigin::unknown, {}, {}});
  PlatformFile file = sample();
  file.figures[0].figures.write_bandwidth = 0.45 * file.figures[0].figures.read_bandwidth;
  apply_measured(file, facts);
  const auto nodes = classify(facts, {});
  EXPECT_EQ((*nodes)[0].kind, MemoryKind::dram);
  EXPECT_EQ((*nodes)[1].kind, MemoryKind::nvm);
}

// DRAM of the processors and memory without, both measured by cores that write slowly.
MemoryKind kind_beside(const Figures& dram, const Figures& other, const Figures& firmwares = {}) {
  MachineFacts facts;
  facts.nodes.push_back({0, 64 * k_gibibyte, {0, 1, 2, 3}, {}, MemoryOrigin::unknown, {}, {}});
  facts.nodes.push_back({2, 128 * k_gibibyte, {}, {}, MemoryOrigin::unknown, {}, {}});
  if (firmwares.read_bandwidth > 0) facts.nodes[1].views = {{{0, 1, 2, 3}, firmwares, 20}};
  PlatformFile file = sample();
  file.figures[0].figures = dram;
  file.figures[1].figures = other;
  apply_measured(file, facts);
  return (*classify(facts, {}))[1].kind;
}

TEST(MeasuredFigures, AsymmetryIsJudgedBesideTheProcessorsOwnMemory) {
  using enum MemoryKind;
  const Figures slow_writers = {90, 90, 100e9, 45e9};
  EXPECT_EQ(kind_beside(slow_writers, {110, 110, 400e9, 180e9}), hbm);
  EXPECT_EQ(kind_beside({90, 90, 200e9, 180e9}, {110, 110, 500e9, 200e9}), hbm);
  EXPECT_NE(kind_beside(slow_writers, {250, 250, 50e9, 22e9}), nvm); // of CXL
  EXPECT_EQ(kind_beside(slow_writers, {300, 300, 40e9, 10e9}), nvm);
  // Only the own memory's write bandwidth is missing: the firmware's figures decide.
  EXPECT_EQ(kind_beside({90, 90, 100e9, 0}, {300, 300, 40e9, 10e9}, {300, 300, 40e9, 10e9}), nvm);
  EXPECT_EQ(kind_beside({90, 90, 100e9, 0}, {250, 250, 40e9, 18e9}), unknown);
}

TEST(MeasuredFigures, AreNotMixedWithTheFirmwares) {
  using enum MemoryKind;
  // Reads have no confidence: beside the firmware's 200 GB/s the 90 measured are not few.
  EXPECT_NE(kind_beside({90, 90, 100e9, 95e9}, {250, 250, 0, 90e9}, {250, 250, 200e9, 190e9}), nvm);
}

TEST(MeasuredFigures, ReplaceTheUsualBlockOfNvm) {
  const Figures measured = {300, 300, 40e9, 12e9, 128, 15e9, true};
  EXPECT_EQ(FigureEstimates().estimate(MemoryKind::nvm, measured).block, 128);
  EXPECT_EQ(FigureEstimates().estimate(MemoryKind::nvm, measured).mixed_bandwidth, 15e9);
  const Figures given = {300, 300, 40e9, 12e9};
  EXPECT_EQ(FigureEstimates().estimate(MemoryKind::nvm, given).block, k_nvm_block);
}

TEST(Fingerprint, MemoryIsTheSameWhateverItsFigures) {
  const char* before = "dram:1x64GiB,0/0GB/s,0/0ns;cxl:2x128GiB,0/0GB/s,0/0ns";
  const char* after = "dram:1x63.9GiB,180/140GB/s,80/80ns;cxl:1x128GiB,50/45GB/s,250/250ns;"
                      "cxl:1x128GiB,20/15GB/s,350/350ns";
  EXPECT_TRUE(same_memory(before, after));
  EXPECT_FALSE(same_platform(before, after));
  EXPECT_FALSE(same_memory(before, "dram:1x64GiB,0/0GB/s,0/0ns"));
  EXPECT_FALSE(same_memory(before, "dram:1x32GiB,0/0GB/s,0/0ns;cxl:2x128GiB,0/0GB/s,0/0ns"));
  EXPECT_FALSE(same_memory(before, "hbm:1x64GiB,0/0GB/s,0/0ns;cxl:2x128GiB,0/0GB/s,0/0ns"));
  for (const char* odd : {"", ";", ":", "dram", "dram:", "dram:1", "dram:1x", "x:9x9"}) {
    EXPECT_TRUE(same_memory(odd, odd)) << odd;
    EXPECT_FALSE(same_memory(odd, before)) << odd;
  }
}

class FoundFile : public testing::Test {
protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("omptier-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_ / "omptier");
    ::setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
    file_ = sample();
    file_.machine = read_machine_key();
    if (file_.machine.nodes.empty()) GTEST_SKIP() << "the kernel shows no nodes";
    file_.figures.resize(1);
    file_.figures[0].cpus = file_.machine.nodes[0].cpus;
    file_.figures[0].node = file_.machine.nodes[0].number;
    path_ = folder_ / "omptier" / platform_file_name(file_.machine);
  }
  void TearDown() override {
    ::unsetenv("XDG_CONFIG_HOME");
    std::filesystem::remove_all(folder_);
  }
  void write() { std::ofstream(path_) << write_platform_file(file_); }

  std::filesystem::path folder_, path_;
  PlatformFile file_;
};

TEST_F(FoundFile, OfThisMachineIsUsed) {
  write();
  const auto platform = discover_platform({});
  ASSERT_TRUE(platform) << platform.error();
  EXPECT_EQ(platform->figures_problem, "");
  EXPECT_EQ(platform->figures_date, "2026-05-31");
  const unsigned node = file_.figures[0].node;
  EXPECT_EQ(platform->view(node, file_.figures[0].cpus[0]).read_latency, 80.5);
  EXPECT_NE(describe(*platform).find("figures: measured on 2026-05-31"), std::string::npos);
  file_.figures[0].figures.write_latency = 0;
  write();
  EXPECT_NE(describe(*discover_platform({})).find("in part measured on 2026-05-31"),
            std::string::npos);
  DiscoverOptions without;
  without.without_measured = true;
  EXPECT_EQ(discover_platform(without)->figures_file, "");
}

TEST_F(FoundFile, IsNotWaitedForIfItIsAPipe) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_NE(discover_platform({})->figures_problem.find("no regular file"), std::string::npos);
}

TEST_F(FoundFile, OfAnotherMachineOrBrokenIsNamedAndNotUsed) {
  file_.machine.processor += "+";
  write();
  const auto other = discover_platform({});
  EXPECT_NE(other->figures_problem.find("another machine"), std::string::npos);
  EXPECT_EQ(other->figures_date, "");
  std::ofstream(path_) << "{}";
  const auto broken = discover_platform({});
  EXPECT_NE(broken->figures_problem.find("lacks"), std::string::npos);
  EXPECT_TRUE(broken->node(file_.figures[0].node));
}

} // namespace
} // namespace omptier
