// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Captured machines replayed: every <name>.xml below fixtures/machines must be described exactly as
// <name>.expected beside it says. With OMPTIER_UPDATE_EXPECTED=1 in the environment the files are
// written instead, to be read before they are committed.
#include "platform/choice.hpp"
#include "platform/describe.hpp"
#include "platform/fingerprint.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace omptier {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> machines() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(OMPTIER_FIXTURES "/machines"))
    if (entry.path().extension() == ".xml") names.push_back(entry.path().stem());
  std::ranges::sort(names);
  return names;
}

Parsed<Platform> replay(const std::string& name) {
  return discover_platform({OMPTIER_FIXTURES "/machines/" + name + ".xml", {}});
}

class Machine : public testing::TestWithParam<std::string> {};

TEST_P(Machine, IsDescribedAsExpected) {
  const auto platform = replay(GetParam());
  ASSERT_TRUE(platform) << platform.error();
  std::string why_not;
  EXPECT_TRUE(is_consistent(*platform, why_not)) << why_not;
  const std::string file = OMPTIER_FIXTURES "/machines/" + GetParam() + ".expected";
  const std::string text = describe(*platform) + "fingerprint: " + platform->fingerprint + "\n";
  if (std::getenv("OMPTIER_UPDATE_EXPECTED") != nullptr) {
    std::ofstream(file) << text;
    GTEST_FAIL() << file << " was written; read it, and run again without the variable";
  }
  std::stringstream expected;
  expected << std::ifstream(file).rdbuf();
  EXPECT_EQ(text, expected.str()) << file;
}

INSTANTIATE_TEST_SUITE_P(Captured, Machine, testing::ValuesIn(machines()), [](const auto& name) {
  std::string identifier = name.param;
  std::ranges::replace(identifier, '-', '_');
  return identifier;
});

TEST(Machines, PresetsOfTheVirtualMachineAreCaptured) {
  for (const char* name : {"dram-hbm-nvm", "icelake-optane", "xeon-max-flat", "dram-cxl",
                           "knl-snc4-flat", "xeon-max-snc4-2s", "nvdimm", "one-node"})
    EXPECT_TRUE(replay(name)) << name;
}

TEST(Machines, FarNodeOfATierComesSecond) {
  const auto platform = replay("icelake-optane");
  ASSERT_TRUE(platform);
  EXPECT_EQ(best_nodes_for(*platform, MemoryKind::nvm, 0), (std::vector{2u, 3u}));
  EXPECT_EQ(best_nodes_for(*platform, MemoryKind::nvm, 3), (std::vector{3u, 2u}));
}

// The kernel shows figures from a cluster's own CPUs only: for the others distances must decide.
TEST(Machines, NearestClustersFirst) {
  const auto knl = replay("knl-snc4-flat");
  ASSERT_TRUE(knl);
  EXPECT_EQ(best_nodes_for(*knl, MemoryKind::hbm, 2), (std::vector{6u, 4u, 5u, 7u}));
  EXPECT_EQ(best_nodes_for(*knl, MemoryKind::dram, 3), (std::vector{3u, 0u, 1u, 2u}));
  const auto max = replay("xeon-max-snc4-2s");
  ASSERT_TRUE(max);
  EXPECT_EQ(best_nodes_for(*max, Preference::bandwidth, 5),
            (std::vector{13u, 12u, 14u, 15u, 8u, 9u, 10u, 11u}));
  EXPECT_EQ(best_nodes_for(*max, Preference::latency, 1),
            (std::vector{1u, 0u, 2u, 3u, 4u, 5u, 6u, 7u}));
}

} // namespace
} // namespace omptier
