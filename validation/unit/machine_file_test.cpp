// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machine files: what a good one becomes, and that each wrong line of a bad one is named.
#include "machine/machine_file.hpp"
#include "machine/presets.hpp"

#include <gtest/gtest.h>
#include <string>

namespace omptier {
namespace {

constexpr const char* k_good = R"(description two domains
sockets 1
domains 2
cpus 2
cores 8    # of a domain
instruction-ns 0.2
wrong-branch-ns 6
window 224 12
overlap 16 20

memory dram 512M
distances 10 21
local 80 90 100000 50000
in-socket 100 110 60000 30000
loaded 0.5 1.2 1 2

memory nvm 1G
distances 17 28
local 300 310 40000 12000
in-socket 330 340 30000 9000
media 256
)";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = k_good;
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  const auto machine = parse_machine(text, "m", "m.machine");
  return machine ? "" : machine.error();
}

void expect_error(const std::string& from, const std::string& to, const std::string& error) {
  const std::string got = error_of(changed(from, to));
  EXPECT_NE(got.find(error), got.npos) << from << " -> " << to << ": '" << got << "'";
}

TEST(MachineFile, HasTheLastLevelOfAllDomains) {
  const auto machine = parse_machine(changed("cpus 2", "last-level 12M\ncpus 2"), "m", "m.machine");
  ASSERT_TRUE(machine) << machine.error();
  EXPECT_EQ(machine->last_level, 24 * k_mib);
  expect_error("cpus 2", "last-level", "m.machine:4: size of the cache is missing");
}

TEST(MachineFile, HasANodePerMemoryAndDomain) {
  const auto machine = parse_machine(k_good, "m", "m.machine");
  ASSERT_TRUE(machine) << machine.error();
  ASSERT_EQ(machine->nodes.size(), 4u);
  EXPECT_EQ(machine->cores, 4);
  EXPECT_EQ(machine->core.stands_for, 4);
  EXPECT_EQ(machine->nodes[1].cpus, 2);
  EXPECT_EQ(machine->nodes[1].initiator, -1);
  EXPECT_EQ(machine->nodes[3].cpus, 0);
  EXPECT_EQ(machine->nodes[3].initiator, 1);
  EXPECT_EQ(machine->nodes[3].media_block, 256);
  EXPECT_EQ(machine->nodes[3].seen_from[0].read_latency, 330);
  EXPECT_EQ(machine->nodes[3].seen_from[1].read_latency, 300);
  EXPECT_EQ(machine->nodes[0].load_curve.size(), 2u);
  const std::vector<std::vector<int>> distances = {
      {10, 21, 17, 28}, {21, 10, 28, 17}, {17, 28, 10, 28}, {28, 17, 28, 10}};
  EXPECT_EQ(machine->distances, distances);
}

TEST(MachineFile, NamesTheWrongLine) {
  expect_error("sockets 1", "sockets 0", "m.machine:2: sockets '0'; write a number from 1 to 16");
  expect_error("sockets 1", "sockets -1", "m.machine:2: ");
  expect_error("sockets 1", "sockets 1.5", "m.machine:2: sockets is a whole number");
  expect_error("sockets 1", "sockets", "m.machine:2: sockets is missing");
  expect_error("sockets 1", "sockets 1 1", "m.machine:2: '1' is too much");
  expect_error("sockets 1", "socket 1", "m.machine:2: 'socket' is no keyword");
  expect_error("cpus 2", "cpus 2\ncpus 2", "m.machine:5: cpus stands here twice");
  expect_error("instruction-ns 0.2", "instruction-ns nan", "m.machine:6: ");
  expect_error("instruction-ns 0.2", "instruction-ns inf", "m.machine:6: ");
  expect_error("instruction-ns 0.2", "instruction-ns 0.2ns", "m.machine:6: ");
  expect_error("window 224 12", "window 224", "m.machine:8: outstanding misses is missing");
  expect_error("overlap 16 20", "overlap 16 65", "m.machine:9: ");
  expect_error("memory dram 512M", "memory ddr 512M", "m.machine:11: memory 'ddr' is none of");
  expect_error("memory dram 512M", "memory dram 0", "m.machine:11: ");
  expect_error("memory dram 512M", "memory dram 3K", "m.machine:11: ");
  expect_error("memory dram 512M", "memory dram", "m.machine:11: size of a node is missing");
  expect_error("distances 10 21", "distances 10", "m.machine:11: this memory has 1 distances");
  expect_error("distances 10 21", "distances 11 21", "m.machine:11: the first distance is 10");
  expect_error("distances 17 28", "distances 10 28", "m.machine:17: the first distance is 10");
  expect_error("distances 17 28", "distances 17 255", "m.machine:18: ");
  expect_error("local 80", "local 0", "m.machine:13: read latency (ns) '0'");
  expect_error("local 80 90 100000 50000", "local 80 90 -1 1", "m.machine:13: read bandwidth");
  expect_error("local 300 310 40000 12000\n", "", "m.machine:17: this memory has no line 'local'");
  expect_error("loaded 0.5 1.2 1 2", "loaded 0.5 0.9", "m.machine:15: latency over the idle one");
  expect_error("loaded 0.5 1.2 1 2", "loaded 0.5 2 1 1.5", "m.machine:15: used bandwidth rises");
  expect_error("loaded 0.5 1.2 1 2", "loaded 0.5 2 0.5 3", "m.machine:15: used bandwidth rises");
  expect_error("loaded 0.5 1.2 1 2", "loaded 0.5", "m.machine:15: ");
  expect_error("loaded 0.5 1.2 1 2", "loaded", "m.machine:15: PART TIMES pairs are missing");
  expect_error("media 256", "media 100", "m.machine:21: a medium's block is a power of two");
  expect_error("media 256", "cache 1M 80 80 0 1", "m.machine:21: ");
  expect_error("media 256", "bandwith 1", "m.machine:21: 'bandwith' is no keyword of a memory");
  expect_error("media 256", "nvdimm", "m.machine:17: an NVDIMM is the last memory");
  expect_error("media 256", "mixed 0", "m.machine:21: bandwidth of mixed reads and writes");
  expect_error("media 256", "mixed 24001", "m.machine:17: mixed: as many reads as writes have at");
  expect_error("media 256", "mixed 12000\nduplex", "m.machine:17: mixed: reads and writes of a");
  expect_error("sockets 1", "dax-folder 2M\nsockets 1", "m.machine: dax-folder");
}

TEST(MachineFile, NamesWhatIsMissingOrTooMuch) {
  expect_error("cpus 2", "", "m.machine: no valid line 'cpus'");
  expect_error("cores 8", "cores 1", "m.machine: cores: a CPU stands for at least one");
  expect_error("cpus 2", "cpus 9", "18 CPUs; at most 16");
  EXPECT_NE(error_of("").find("no valid line 'memory'"), std::string::npos);
  EXPECT_NE(error_of(std::string("a\0b", 3)).find("no text file"), std::string::npos);
}

TEST(MachineFile, NamesEveryWrongLine) {
  std::string text = changed("sockets 1", "sockets 0");
  text.replace(text.find("media 256"), 9, "media 100");
  const std::string error = error_of(text);
  EXPECT_NE(error.find("m.machine:2: "), error.npos) << error;
  EXPECT_NE(error.find("\nm.machine:21: "), error.npos) << error;
}

// What --describe prints is the same machine when it is read again.
TEST(MachineFile, PresetsAreFiles) {
  for (const Machine& preset : machines()) {
    const auto again = parse_machine(machine_text(preset.name), preset.name, "f");
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(again->distances, preset.distances);
    EXPECT_EQ(again->nodes.size(), preset.nodes.size());
  }
}

} // namespace
} // namespace omptier
