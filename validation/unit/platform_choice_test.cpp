// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the standard spaces mean, from where one stands.
#include "platform/choice.hpp"
#include "platform/ranking.hpp"
#include "platform_samples.hpp"

#include <algorithm>

namespace omptier {
namespace {

using enum MemoryKind;
using Order = std::vector<std::size_t>;

// Two sockets (CPUs 0-1, 2-3), each with DRAM and HBM, and NVM on the first. As on Linux, figures
// are from the nearest processors only; the rest is distances.
Platform two_sockets(bool distances = true) {
  MachineFacts machine;
  machine.nodes = {facts(0, {0, 1}, {0, 1}, figures(100, 90, 100)),
                   facts(1, {2, 3}, {2, 3}, figures(100, 90, 100)),
                   facts(2, {}, {0, 1}, figures(400, 380, 130), 4 * k_gib),
                   facts(3, {}, {2, 3}, figures(400, 380, 130), 4 * k_gib),
                   facts(4, {}, {0, 1}, figures(30, 10, 300), 128 * k_gib)};
  if (distances) {
    const unsigned matrix[2][5] = {{10, 21, 13, 24, 17}, {21, 10, 24, 13, 28}};
    for (unsigned node = 0; node < 5; ++node) {
      const unsigned near = node == 1 || node == 3 ? 1 : 0;
      machine.nodes[node].views[0].distance = matrix[near][node];
      machine.nodes[node].views.push_back(
          {near == 0 ? std::vector{2u, 3u} : std::vector{0u, 1u}, {}, matrix[1 - near][node]});
    }
  }
  return platform_of(machine);
}

Ranked memory(MemoryKind kind, double read, double write, double latency,
              std::uint64_t capacity = 1) {
  return {kind, figures(read, write, latency), capacity, 0};
}

TEST(Ranking, BandwidthIsTheMeanOfReadAndWrite) {
  const std::vector<Ranked> memories = {memory(dram, 100, 100, 100), memory(nvm, 190, 20, 50),
                                        memory(hbm, 100, 140, 200)};
  EXPECT_EQ(rank(memories, Preference::bandwidth), (Order{2, 1, 0}));
}

TEST(Ranking, WithinTenPercentTheLowerLatencyWins) {
  EXPECT_EQ(rank(std::vector{memory(hbm, 100, 100, 130), memory(dram, 90, 90, 100)},
                 Preference::bandwidth),
            (Order{1, 0}));
  EXPECT_EQ(rank(std::vector{memory(hbm, 100, 100, 130), memory(dram, 89.9, 89.9, 100)},
                 Preference::bandwidth),
            (Order{0, 1}));
}

TEST(Ranking, TiesDoNotChain) { // a ties with b, b with c, but c is not near a
  const std::vector<Ranked> memories = {memory(hbm, 100, 100, 130), memory(dram, 91, 91, 120),
                                        memory(cxl, 83, 83, 50)};
  EXPECT_EQ(rank(memories, Preference::bandwidth), (Order{1, 0, 2}));
}

TEST(Ranking, ReadOnlyCountsReadsOnly) {
  const std::vector<Ranked> memories = {memory(dram, 100, 100, 100), memory(nvm, 120, 10, 150)};
  EXPECT_EQ(rank(memories, Preference::read_only), (Order{1, 0}));
  EXPECT_EQ(rank(memories, Preference::bandwidth), (Order{0, 1}));
}

TEST(Ranking, LatencyAndCapacity) {
  const std::vector<Ranked> memories = {memory(hbm, 400, 400, 130, 4),
                                        memory(dram, 100, 100, 100, 16),
                                        memory(nvm, 30, 10, 300, 128)};
  EXPECT_EQ(rank(memories, Preference::latency), (Order{1, 0, 2}));
  EXPECT_EQ(rank(memories, Preference::capacity), (Order{2, 1, 0}));
}

TEST(Ranking, WithoutFiguresTheUsualOrderOfKinds) {
  const std::vector<Ranked> memories = {
      {nvm, {}, 1, 0}, {unknown, {}, 1, 0}, {cxl, {}, 1, 0}, {dram, {}, 1, 0}, {hbm, {}, 1, 0}};
  EXPECT_EQ(rank(memories, Preference::bandwidth), (Order{4, 3, 2, 0, 1}));
  EXPECT_EQ(rank(memories, Preference::latency), (Order{3, 4, 2, 0, 1}));
}

TEST(Choice, NearestNodeOfTheBestTierFirst) {
  const Platform platform = two_sockets();
  EXPECT_EQ(best_nodes_for(platform, Preference::bandwidth, 0), (std::vector{2u, 3u}));
  EXPECT_EQ(best_nodes_for(platform, Preference::bandwidth, 3), (std::vector{3u, 2u}));
  EXPECT_EQ(best_nodes_for(platform, Preference::latency, 1), (std::vector{0u, 1u}));
  EXPECT_EQ(best_nodes_for(platform, Preference::latency, 2), (std::vector{1u, 0u}));
  EXPECT_EQ(best_nodes_for(platform, Preference::capacity, 2), std::vector{4u});
  EXPECT_EQ(best_nodes_for(platform, Preference::read_only, 2), (std::vector{3u, 2u}));
  EXPECT_EQ(best_nodes_for(platform, hbm, 2), (std::vector{3u, 2u}));
  EXPECT_TRUE(best_nodes_for(platform, cxl, 2).empty());
}

TEST(Choice, WithoutDistancesOwnNodeIsNearest) {
  const Platform platform = two_sockets(false);
  EXPECT_EQ(best_nodes_for(platform, dram, 0), (std::vector{0u, 1u}));
  EXPECT_EQ(best_nodes_for(platform, dram, 3), (std::vector{1u, 0u}));
}

TEST(Choice, FarFiguresAreWorsenedByDistance) {
  const Platform platform = two_sockets();
  const Figures far = estimated_view(platform, 0, 2);
  EXPECT_NEAR(far.read_bandwidth, 100e9 * 10 / 21, 1e6);
  EXPECT_NEAR(far.read_latency, 210, 0.1);
  EXPECT_EQ(estimated_view(platform, 0, 0).read_latency, 100);
  EXPECT_EQ(platform.view(0, 2).read_latency, 0); // unknown figures stay unknown
  EXPECT_EQ(platform.view(9, 0).read_latency, 0);
}

TEST(Choice, TableAnswersAsTheFunctionsDo) {
  const Platform platform = two_sockets();
  const ChoiceTable table(platform);
  for (unsigned cpu = 0; cpu < 4; ++cpu) {
    for (std::size_t p = 0; p < k_preferences; ++p) {
      const auto preference = static_cast<Preference>(p);
      EXPECT_TRUE(std::ranges::equal(table.nodes(preference, cpu),
                                     best_nodes_for(platform, preference, cpu)));
      EXPECT_TRUE(
          std::ranges::equal(table.tiers(preference, cpu), tiers_by(platform, preference, cpu)));
    }
    for (const MemoryKind kind : k_all_memory_kinds)
      EXPECT_TRUE(std::ranges::equal(table.nodes(kind, cpu), best_nodes_for(platform, kind, cpu)));
    for (std::size_t t = 0; t < platform.tiers.size(); ++t)
      EXPECT_TRUE(std::ranges::equal(table.nodes_of_tier(t, cpu),
                                     nodes_of(platform, platform.tiers[t], cpu)));
  }
  EXPECT_EQ(table.nodes(hbm, 4096)[0], table.nodes(hbm, 0)[0]);
  EXPECT_TRUE(table.nodes(MemoryKind::unknown, 0).empty());
}

TEST(Choice, EmptyPlatformHasNoNodes) {
  const ChoiceTable table{Platform{}};
  EXPECT_TRUE(table.nodes(Preference::bandwidth, 0).empty());
  EXPECT_TRUE(table.nodes(dram, 7).empty());
}

} // namespace
} // namespace omptier
