// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kinds by rule, at and beside the edges of the rules.
#include "platform_samples.hpp"

#include <cmath>

namespace omptier {
namespace {

using enum MemoryKind;

const Figures k_dram = figures(100, 90, 100);

// DRAM of CPUs 0-3 and one memory without processors beside it.
Node beside_dram(Figures other) {
  MachineFacts machine;
  machine.nodes = {facts(0, {0, 1, 2, 3}, {0, 1, 2, 3}, k_dram), facts(1, {}, {0, 1, 2, 3}, other)};
  const Platform platform = platform_of(machine);
  EXPECT_EQ(platform.nodes[0].kind, dram) << platform.nodes[0].rule;
  return platform.nodes[1];
}

TEST(Classification, HbmFromTwiceTheReadBandwidth) {
  EXPECT_EQ(beside_dram(figures(200, 200, 120)).kind, hbm);
  EXPECT_EQ(beside_dram(figures(std::nextafter(200, 0), 200, 120)).kind, unknown);
  EXPECT_EQ(beside_dram(figures(199.999, 199, 120)).kind, unknown);
  EXPECT_EQ(beside_dram(figures(800, 500, 120)).kind, hbm);
  EXPECT_EQ(beside_dram(figures(410, 390, 130)).rule,
            "read bandwidth is 4.1 times DRAM's (node 0) from the same CPUs");
}

TEST(Classification, NvmBelowHalfWrite) {
  EXPECT_EQ(beside_dram(figures(40, 19.999, 300)).kind, nvm);
  EXPECT_EQ(beside_dram(figures(40, 20, 300)).kind, unknown); // neither, nor about symmetric
  EXPECT_EQ(beside_dram(figures(40, 12, 300)).rule,
            "write bandwidth is 0.3 of read (less than half)");
  EXPECT_EQ(beside_dram(figures(300, 100, 100)).kind, nvm); // asymmetry is asked before bandwidth
}

TEST(Classification, CxlByAttributes) {
  EXPECT_EQ(beside_dram(figures(50, 45, 150)).kind, cxl);
  EXPECT_EQ(beside_dram(figures(60, 45, 149.9)).kind, unknown);
  EXPECT_EQ(beside_dram(figures(100, 90, 150)).kind, cxl); // not more bandwidth than DRAM
  EXPECT_EQ(beside_dram(figures(100.1, 90, 150)).kind, unknown);
  EXPECT_EQ(beside_dram(figures(60, 40, 250)).kind, cxl); // within a factor of 1.5
  EXPECT_EQ(beside_dram(figures(60, 39.9, 250)).kind, unknown);
  EXPECT_EQ(beside_dram(figures(40, 60.1, 250)).kind, unknown);
  const Node node = beside_dram(figures(50, 45, 250));
  EXPECT_EQ(node.rule, "CXL (by attributes): no CPUs, read latency is 2.5 times and bandwidth 0.5 "
                       "times DRAM's (node 0)");
}

TEST(Classification, CxlNeedsAllFigures) {
  EXPECT_EQ(beside_dram({250, 0, 60e9, 0}).kind, unknown);
  EXPECT_EQ(beside_dram({0, 0, 60e9, 60e9}).kind, unknown);
}

TEST(Classification, MemoryLikeDramIsDram) {
  EXPECT_EQ(beside_dram(figures(91, 90, 105)).kind, dram);
  EXPECT_EQ(beside_dram(figures(89, 90, 105)).kind, unknown);
  EXPECT_EQ(beside_dram(figures(89, 90, 105)).rule,
            "its figures fit no rule; OMPTIER_NODES can say what it is");
}

TEST(Classification, ProcessorsOwnMemoryMayBeTheHbm) {
  MachineFacts machine;
  machine.nodes = {facts(0, {0, 1}, {0, 1}, figures(800, 700, 130)),
                   facts(1, {}, {0, 1}, figures(200, 180, 110))};
  const Platform platform = platform_of(machine);
  EXPECT_EQ(platform.nodes[0].kind, hbm) << platform.nodes[0].rule;
  EXPECT_EQ(platform.nodes[1].kind, dram) << platform.nodes[1].rule;
  EXPECT_EQ(platform.nodes[0].rule,
            "read bandwidth is 4 times that of DRAM (node 1) from the same CPUs");
  machine.nodes[1].views[0].figures.read_latency = 130;
  EXPECT_EQ(platform_of(machine).nodes[0].kind, hbm);
  machine.nodes[1].views[0].figures.read_latency = 131; // slower in both: no DRAM beside HBM
  EXPECT_EQ(platform_of(machine).nodes[0].kind, dram);
  EXPECT_EQ(platform_of(machine).nodes[1].kind, unknown);
}

TEST(Classification, ComparisonIsFromTheSameProcessorsOnly) {
  MachineFacts machine; // HBM near CPUs 2-3, whose own DRAM has no figures; node 0's do not count
  machine.nodes = {facts(0, {0, 1}, {0, 1}, k_dram), facts(1, {2, 3}, {2, 3}, {}),
                   facts(2, {}, {2, 3}, figures(400, 400, 120))};
  const Platform platform = platform_of(machine);
  EXPECT_EQ(platform.nodes[1].kind, dram);
  EXPECT_EQ(platform.nodes[2].kind, unknown);
  EXPECT_EQ(platform.nodes[2].rule,
            "no figures from the firmware; OMPTIER_NODES can say what it is");
}

TEST(Classification, NearestViewDecides) {
  MachineFacts machine; // also seen, worse, from the other socket
  machine.nodes = {facts(0, {0, 1}, {0, 1}, k_dram), facts(1, {2, 3}, {2, 3}, k_dram),
                   facts(2, {}, {2, 3}, figures(60, 60, 200))};
  machine.nodes[2].views.push_back({{0, 1}, figures(400, 400, 120), 0});
  EXPECT_EQ(platform_of(machine).nodes[2].kind, hbm);
}

TEST(Classification, OneKindOnlyIsDram) {
  MachineFacts machine;
  machine.nodes = {facts(0, {0}, {0}, {})};
  EXPECT_EQ(platform_of(machine).nodes[0].kind, dram);
  EXPECT_EQ(platform_of(machine).nodes[0].rule, "only memory here");
  machine.nodes = {facts(0, {0}, {0}, figures(700, 600, 130)),
                   facts(1, {1}, {1}, figures(700, 600, 130))};
  EXPECT_EQ(platform_of(machine).nodes[1].rule, "only kind of memory here");
  EXPECT_EQ(platform_of(machine).nodes[1].kind, dram);
  machine.firmware_memory = "HBM";
  EXPECT_EQ(platform_of(machine).nodes[0].kind, hbm);
}

TEST(Classification, FirmwareThatCallsEverythingAsymmetricIsNotBelieved) {
  MachineFacts machine;
  machine.nodes = {facts(0, {0}, {0}, figures(100, 30, 90)),
                   facts(1, {1}, {1}, figures(100, 30, 90))};
  EXPECT_EQ(platform_of(machine).nodes[0].kind, dram);
  EXPECT_EQ(platform_of(machine).nodes[1].kind, dram);
}

TEST(Classification, OriginWinsOverFigures) {
  MachineFacts machine;
  machine.nodes = {facts(0, {0}, {0}, k_dram), facts(1, {}, {0}, figures(90, 85, 110)),
                   facts(2, {}, {0}, figures(400, 400, 110)),
                   facts(3, {}, {0}, figures(400, 400, 9))};
  machine.nodes[1].origin = MemoryOrigin::nvdimm;
  machine.nodes[1].origin_name = "dax0.0";
  machine.nodes[2].origin = MemoryOrigin::cxl;
  machine.nodes[2].origin_name = "region0";
  machine.nodes[3].origin = MemoryOrigin::reserved; // says nothing
  const Platform platform = platform_of(machine);
  EXPECT_EQ(platform.nodes[1].kind, nvm);
  EXPECT_EQ(platform.nodes[1].rule, "NVDIMM (NFIT) behind dax0.0");
  EXPECT_EQ(platform.nodes[2].kind, cxl);
  EXPECT_EQ(platform.nodes[2].rule, "CXL region behind region0");
  EXPECT_EQ(platform.nodes[3].kind, hbm);
}

TEST(Classification, LabelsCountOnlyWithoutFigures) {
  MachineFacts machine;
  machine.nodes = {facts(0, {0}, {0}, k_dram), facts(1, {}, {0}, figures(50, 45, 250)),
                   facts(2, {}, {0}, {})};
  machine.nodes[1].label = "HBM";
  machine.nodes[2].label = "MCDRAM";
  const Platform platform = platform_of(machine);
  EXPECT_EQ(platform.nodes[1].kind, cxl);
  EXPECT_EQ(platform.nodes[2].kind, hbm);
  EXPECT_EQ(platform.nodes[2].rule, "the firmware labels it MCDRAM (no figures)");
}

TEST(Classification, ForcedNodesWinAndMustExist) {
  MachineFacts machine;
  machine.nodes = {facts(0, {0}, {0}, k_dram), facts(1, {}, {0}, figures(400, 400, 110))};
  const auto forced = parse_nodes("nvm:1,hbm:0");
  ASSERT_TRUE(forced);
  const Platform platform = platform_of(machine, *forced);
  EXPECT_EQ(platform.nodes[0].kind, hbm);
  EXPECT_EQ(platform.nodes[1].kind, nvm);
  EXPECT_EQ(platform.nodes[1].rule, "named in OMPTIER_NODES");
  EXPECT_EQ(classify(machine, *parse_nodes("cxl:1+7")).error(),
            "OMPTIER_NODES names node 7 as cxl, which does not exist here or may not be used; "
            "'omptier topology' lists the nodes");
}

TEST(Classification, NodeNamedDramIsTheReference) {
  MachineFacts machine; // no processors of its own: only the user knows it is DRAM
  machine.nodes = {facts(0, {0}, {0}, figures(800, 700, 130)),
                   facts(1, {}, {0}, figures(300, 250, 110))};
  const Platform platform = platform_of(machine, *parse_nodes("dram:1"));
  EXPECT_EQ(platform.nodes[0].kind, hbm) << platform.nodes[0].rule;
}

TEST(Tiers, OneKindOfTwoClassesIsTwoTiers) {
  MachineFacts machine;
  machine.nodes = {
      facts(0, {0}, {0}, figures(100, 90, 100)), facts(1, {1}, {1}, figures(98, 90, 101)),
      facts(2, {}, {0}, figures(400, 400, 120)), facts(3, {}, {1}, figures(900, 800, 120))};
  const Platform platform = platform_of(machine);
  ASSERT_EQ(platform.tiers.size(), 3u);
  EXPECT_EQ(platform.tiers[0].nodes, std::vector{3u});
  EXPECT_EQ(platform.tiers[1].nodes, std::vector{2u});
  EXPECT_EQ(platform.tiers[2].nodes, (std::vector{0u, 1u}));
  EXPECT_EQ(platform.tiers[2].capacity, 32 * k_gib);
  EXPECT_EQ(platform.tier(hbm), &platform.tiers[0]);
  EXPECT_EQ(platform.tier(nvm), nullptr);
}

TEST(Fingerprint, ChangesWithKindsCapacitiesAndFiguresOnly) {
  const auto fingerprint_of = [](std::uint64_t capacity, double bandwidth, const char* forced) {
    MachineFacts machine;
    machine.nodes = {facts(0, {0}, {0}, k_dram),
                     facts(1, {}, {0}, figures(bandwidth, 400, 120), capacity)};
    return platform_of(machine, *parse_nodes(forced)).fingerprint;
  };
  const std::string base = fingerprint_of(16 * k_gib, 400, "dram:0");
  EXPECT_EQ(base, "hbm:1x16GiB,400/400GB/s,120/120ns;dram:1x16GiB,100/90GB/s,100/100ns");
  EXPECT_TRUE(same_platform(base, base));
  EXPECT_TRUE(same_platform(base, fingerprint_of(16 * k_gib - k_gib / 10, 400, "dram:0")));
  EXPECT_FALSE(same_platform(base, fingerprint_of(15 * k_gib, 400, "dram:0")));
  EXPECT_FALSE(same_platform(base, fingerprint_of(16 * k_gib, 410, "dram:0")));
  EXPECT_FALSE(same_platform(base, fingerprint_of(16 * k_gib, 400, "cxl:1")));
  EXPECT_FALSE(same_platform(base, base + ";"));
  EXPECT_FALSE(same_platform(base, ""));
  EXPECT_TRUE(same_platform("", ""));
}

} // namespace
} // namespace omptier
