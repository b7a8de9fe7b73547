// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Discovery on whatever machine this is, and its failures.
#include "platform/describe.hpp"
#include "platform/platform.hpp"
#include "platform_samples.hpp"

#include <fstream>

namespace omptier {
namespace {

TEST(Platform, ThisMachineIsConsistent) {
  const auto platform = discover_platform({});
  ASSERT_TRUE(platform) << platform.error();
  ASSERT_FALSE(platform->nodes.empty());
  std::string why_not;
  EXPECT_TRUE(is_consistent(*platform, why_not)) << why_not;
  std::uint64_t capacity = 0;
  for (const Tier& tier : platform->tiers)
    capacity += tier.capacity;
  EXPECT_GT(capacity, std::uint64_t{1} << 26);
}

TEST(Platform, ForcedKindIsTheKind) {
  const auto here = discover_platform({});
  ASSERT_TRUE(here) << here.error();
  NodesByKind forced;
  forced[static_cast<std::size_t>(MemoryKind::nvm)] = {here->nodes[0].number};
  const auto platform = discover_platform({"", forced});
  ASSERT_TRUE(platform) << platform.error();
  EXPECT_EQ(platform->nodes[0].kind, MemoryKind::nvm);
  ASSERT_NE(platform->tier(MemoryKind::nvm), nullptr);
  forced[0] = {1000};
  EXPECT_FALSE(discover_platform({"", forced}));
}

TEST(Platform, UnreadableExportIsOneLine) {
  EXPECT_EQ(discover_platform({"/nonexistent.xml", {}}).error(),
            "/nonexistent.xml: No such file or directory");
  const std::string path = testing::TempDir() + "not-a-topology.xml";
  for (const char* text :
       {"", "<html></html>", "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">"}) {
    std::ofstream(path) << text;
    const auto platform = discover_platform({path, {}});
    ASSERT_FALSE(platform) << text;
    EXPECT_EQ(platform.error(),
              path + ": not an hwloc XML file; on the machine that is meant: lstopo --of xml machine.xml");
  }
}

TEST(Platform, InconsistencyIsNamed) {
  MachineFacts machine;
  machine.nodes = {facts(0, {0}, {0}, {}), facts(1, {1}, {1}, {})};
  const Platform good = platform_of(machine);
  std::string why_not;
  Platform bad = good;
  bad.tiers[0].nodes.pop_back();
  EXPECT_FALSE(is_consistent(bad, why_not));
  EXPECT_EQ(why_not, "a tier's capacity is not the sum of its nodes'");
  bad.tiers[0].capacity = bad.nodes[0].capacity;
  EXPECT_FALSE(is_consistent(bad, why_not));
  EXPECT_EQ(why_not, "a node is in no tier or in two");
  bad = good;
  bad.nodes[1].kind = MemoryKind::hbm;
  EXPECT_FALSE(is_consistent(bad, why_not));
  EXPECT_EQ(why_not, "node 1 is in a tier of another kind");
  bad = good;
  std::swap(bad.nodes[0], bad.nodes[1]);
  EXPECT_FALSE(is_consistent(bad, why_not));
}

TEST(Describe, NumbersAsRanges) {
  EXPECT_EQ(format_numbers({}), "");
  EXPECT_EQ(format_numbers({3}), "3");
  EXPECT_EQ(format_numbers({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

} // namespace
} // namespace omptier
