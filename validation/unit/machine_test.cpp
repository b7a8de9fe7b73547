// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of machines and what is derived from it: QEMU's arguments and the time model's
// configuration. Whether they are right for QEMU and Linux, the tests in virtual/ say.
#include "machine/as_platform.hpp"
#include "machine/machine_file.hpp"
#include "machine/presets.hpp"
#include "machine/qemu_command.hpp"
#include "machine/timing_setup.hpp"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

namespace omptier {
namespace {

TEST(Machines, AllKeepTheInvariants) {
  ASSERT_GE(machines().size(), 4u);
  std::set<std::string_view> names;
  for (const Machine& machine : machines()) {
    EXPECT_TRUE(names.insert(machine.name).second) << machine.name;
    EXPECT_EQ(find_machine(machine.name), &machine);
    EXPECT_FALSE(machine.description.empty()) << machine.name;
  }
  EXPECT_EQ(find_machine("no-such-machine"), nullptr);
  EXPECT_EQ(find_machine(""), nullptr);
  // A preset that is wrong is missing.
  for (const auto& file : std::filesystem::directory_iterator(
           OMPTIER_FIXTURES "/../../openmp-ext/machine/presets")) {
    const auto machine = read_machine(file.path());
    EXPECT_TRUE(machine) << (machine ? "" : machine.error());
    EXPECT_NE(find_machine(file.path().stem().string()), nullptr) << file.path();
  }
}

// Lines with figures of devices; what is chosen for the emulation needs no source.
TEST(Machines, EachFigureHasItsSource) {
  for (const Machine& machine : machines()) {
    std::istringstream lines{std::string(machine_text(machine.name))};
    for (std::string line; std::getline(lines, line);) {
      const std::string keyword = line.substr(0, line.find(' '));
      for (const char* figure :
           {"cores", "instruction-ns", "wrong-branch-ns", "window", "overlap", "last-level",
            "local", "in-socket", "remote", "loaded", "cache", "media"}) {
        if (keyword != figure) continue;
        EXPECT_NE(line.find('#'), line.npos) << machine.name << ": " << line;
      }
    }
  }
}

// What the advisor takes for a machine is what discovery found inside it (fixtures/machines).
TEST(Machines, ArePlatformsAsTheyWereCaptured) {
  for (const Machine& machine : machines()) {
    const Platform platform = platform_of(machine);
    std::string why_not;
    EXPECT_TRUE(is_consistent(platform, why_not)) << machine.name << ": " << why_not;
    const auto captured =
        discover_platform({OMPTIER_FIXTURES "/machines/" + std::string(machine.name) + ".xml", {}});
    ASSERT_TRUE(captured) << captured.error();
    ASSERT_EQ(platform.tiers.size(), captured->tiers.size()) << machine.name;
    for (std::size_t i = 0; i < platform.tiers.size(); ++i) {
      const Tier &ours = platform.tiers[i], &theirs = captured->tiers[i];
      EXPECT_EQ(ours.kind, theirs.kind) << machine.name;
      EXPECT_EQ(ours.nodes, theirs.nodes) << machine.name;
      EXPECT_EQ(ours.figures.read_latency, theirs.figures.read_latency) << machine.name;
      EXPECT_NEAR(ours.figures.read_bandwidth / theirs.figures.read_bandwidth, 1, 0.05)
          << machine.name;
    }
  }
}

TEST(Machines, PlatformsHaveTheSizesAskedFor) {
  CapacityByKind sizes;
  sizes[static_cast<std::size_t>(MemoryKind::hbm)] = 64ull << 30;
  const Platform platform = platform_of(*find_machine("xeon-max-snc4-2s"), sizes);
  EXPECT_EQ(platform.tier(MemoryKind::hbm)->capacity, 64ull << 30);
  EXPECT_EQ(platform.node(8)->capacity, 8ull << 30);
  EXPECT_EQ(platform.tier(MemoryKind::dram)->capacity, 8 * (384ull << 20));
}

// The rules of docs/design.md must find the kind that a node stands for from its figures alone.
TEST(Machines, FiguresTellTheKinds) {
  for (const Machine& machine : machines())
    for (const MachineNode& node : machine.nodes) {
      if (node.cpus > 0) continue;
      const std::vector<int> sources = initiators(machine);
      const auto source = static_cast<std::size_t>(
          std::find(sources.begin(), sources.end(), node.initiator) - sources.begin());
      const NodePerformance& far = node.seen_from[source];
      const NodePerformance& near =
          machine.nodes[static_cast<std::size_t>(node.initiator)].seen_from[source];
      switch (node.kind) {
      case MemoryKind::hbm:
        EXPECT_GE(far.read_bandwidth, 2 * near.read_bandwidth);
        break;
      case MemoryKind::nvm:
        EXPECT_LT(2 * far.write_bandwidth, far.read_bandwidth);
        break;
      case MemoryKind::cxl:
        EXPECT_LE(far.read_bandwidth, near.read_bandwidth);
        EXPECT_GE(2 * far.read_latency, 3 * near.read_latency);
        EXPECT_GT(2 * far.write_bandwidth, far.read_bandwidth);
        break;
      default:
        ADD_FAILURE() << machine.name << ": a node without CPUs is no DRAM here";
      }
    }
}

// More threads than emulated CPUs: the real machine.
TEST(Machines, GiveTheirCpusTheirPartOfTheBandwidth) {
  const Machine& machine = *find_machine("xeon-max-flat"); // 4 CPUs stand for 56 cores
  EXPECT_NEAR(platform_of(machine, {}, 4).nodes[1].views[0].figures.read_bandwidth, 1000e9 / 14, 4e6);
  EXPECT_NEAR(platform_of(machine, {}, 56).nodes[1].views[0].figures.read_bandwidth, 1000e9, 1e6);
}

TEST(Machines, GiveThreadsTheirPartOfTheLastLevel) {
  const LastLevel xeon_max = platform_of(*find_machine("xeon-max-flat"), {}, 4).last_level;
  EXPECT_DOUBLE_EQ(xeon_max.of(4).bytes, 112.5 * k_mib * 4 / 56);
  EXPECT_EQ(xeon_max.of(112).bytes, 112.5 * k_mib);
  EXPECT_EQ(platform_of(*find_machine("xeon-max-snc4-2s"), {}, 8).last_level.of(112).bytes, 225 * k_mib);
  EXPECT_EQ(LastLevel{}.of(4).bytes, 0);
  EXPECT_EQ(xeon_max.of(4).latency, 0); // of the virtual machine's
  // An export has the caches of the machine where it was made: 16 MiB for each socket's two cores.
  const auto exported = discover_platform({OMPTIER_FIXTURES "/machines/icelake-optane.xml", {}});
  ASSERT_TRUE(exported) << exported.error();
  EXPECT_EQ(exported->last_level.of(4).bytes, 32 * k_mib);
  EXPECT_EQ(exported->last_level.of(1).bytes, 8 * k_mib);
  EXPECT_EQ(exported->last_level.of(1).latency, k_usual_cache_latency);
}

TEST(CpuList, NumbersThroughTheNodes) {
  const Machine& machine = *find_machine("icelake-optane");
  EXPECT_EQ(cpu_list(machine, 0), "0-1");
  EXPECT_EQ(cpu_list(machine, 1), "2-3");
  EXPECT_EQ(cpu_list(machine, 2), "");
  EXPECT_EQ(initiators(machine), (std::vector<int>{0, 1}));
}

// Linux loses values when a pair of initiator and target lacks one of the four figures.
TEST(QemuArguments, HmatIsComplete) {
  for (const Machine& machine : machines()) {
    const std::vector<std::string> arguments = machine_arguments(machine);
    auto count = [&](std::string_view part) {
      return std::count_if(arguments.begin(), arguments.end(), [&](const std::string& argument) {
        return argument.find(part) != std::string::npos;
      });
    };
    const auto pairs = static_cast<long>(machine.nodes.size() * initiators(machine).size());
    for (const char* type : {"read-latency", "write-latency", "read-bandwidth", "write-bandwidth"})
      EXPECT_EQ(count(type), pairs) << machine.name << " " << type;
    EXPECT_EQ(count("node,nodeid="), static_cast<long>(machine.nodes.size()));
  }
}

TEST(QemuArguments, CommasInPathsAreDoubled) {
  EXPECT_EQ(escape_commas("/a,b/c"), "/a,,b/c");
  EXPECT_EQ(escape_commas("/plain"), "/plain");
}

TEST(TimingConfiguration, PutsNodesWhereQemuReportsThem) {
  const std::string text = timing_configuration(*find_machine("dram-hbm-nvm"), {.dilation = 50});
  EXPECT_NE(text.find("range 0 0 1073741824 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("range 1 2147483648 536870912 1073741824\n"), std::string::npos) << text;
  // 3 GiB do not fit below the hole that q35 leaves: 2 GiB stay low, the rest starts at 4 GiB.
  EXPECT_NE(text.find("range 2 3221225472 536870912 1610612736\n"), std::string::npos) << text;
  EXPECT_NE(text.find("range 2 3758096384 1073741824 4294967296\n"), std::string::npos) << text;
  EXPECT_NE(text.find("latency 0-3 2 300 900\n"), std::string::npos) << text;
  EXPECT_NE(text.find("bandwidth 0-3 1 400000 400000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("media 2 256\n"), std::string::npos) << text;
  EXPECT_NE(text.find("dilation 50\n"), std::string::npos) << text;
}

TEST(TimingConfiguration, GivesEachSocketItsOwnView) {
  const std::string text = timing_configuration(*find_machine("icelake-optane"), {});
  EXPECT_NE(text.find("latency 0-1 3 380 380\n"), std::string::npos) << text;
  EXPECT_NE(text.find("latency 2-3 3 300 300\n"), std::string::npos) << text;
}

// QEMU refuses others.
TEST(QemuArguments, BandwidthsFitTheHmat) {
  Machine machine = *find_machine("xeon-max-flat");
  machine.core.stands_for = 1;
  machine.nodes[0].seen_from[0].read_bandwidth = 12345;
  for (const MachineNode& node : machine.nodes) {
    const int part = part_of_cpus(machine, node.seen_from[0]).read_bandwidth;
    EXPECT_EQ(part % 32, 0);
    EXPECT_LE(part / 32, 65534);
    EXPECT_NEAR(part, node.seen_from[0].read_bandwidth, 16);
  }
}

// Every byte of RAM is in one range, and no two overlap where the guest sees them.
TEST(TimingConfiguration, RangesCoverTheMemoryOnce) {
  for (const Machine& machine : machines()) {
    if (has_nvdimm(machine)) continue; // not timed
    std::vector<std::pair<unsigned long long, unsigned long long>> ranges;
    unsigned long long covered = 0, expected = 0;
    const std::string text = timing_configuration(machine, {});
    for (std::size_t at = 0; (at = text.find("range ", at)) != std::string::npos; ++at) {
      unsigned node;
      unsigned long long reported, size, physical;
      ASSERT_EQ(std::sscanf(text.c_str() + at, "range %u %llu %llu %llu", &node, &reported, &size,
                            &physical),
                4);
      ranges.emplace_back(physical, size);
      covered += size;
    }
    for (const MachineNode& node : machine.nodes)
      expected += node.size;
    EXPECT_EQ(covered, expected) << machine.name;
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i)
      EXPECT_LE(ranges[i - 1].first + ranges[i - 1].second, ranges[i].first) << machine.name;
  }
}

} // namespace
} // namespace omptier
