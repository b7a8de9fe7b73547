// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is taken for figures that the firmware does not give, and the order of memories by them.
#include "dark_machine.hpp"
#include "platform/choice.hpp"
#include "platform/ranking.hpp"
#include "platform/usual_figures.hpp"
#include "platform_samples.hpp"

namespace omptier {
namespace {

using enum MemoryKind;

// By the rules that tell kinds by figures, each row of the table is of its kind.
TEST(Estimates, UsualFiguresAreThoseOfTheirKind) {
  for (const MemoryKind kind : k_all_memory_kinds) {
    MachineFacts machine;
    machine.nodes = {facts(0, {0}, {0}, usual_figures(dram)),
                     facts(1, {}, {0}, usual_figures(kind))};
    EXPECT_EQ(platform_of(machine).nodes[1].kind, kind) << name_of(kind);
    EXPECT_TRUE(are_known(usual_figures(kind)));
  }
}

TEST(Estimates, WhatIsKnownStays) {
  FigureEstimates estimates;
  estimates.learn(dram, figures(400, 300, 80));
  const Figures known = figures(31, 11, 290, 910);
  const Figures same = estimates.estimate(nvm, known);
  EXPECT_EQ(same.read_latency, known.read_latency);
  EXPECT_EQ(same.write_latency, known.write_latency);
  EXPECT_EQ(same.read_bandwidth, known.read_bandwidth);
  EXPECT_EQ(same.write_bandwidth, known.write_bandwidth);
  EXPECT_DOUBLE_EQ(same.mixed_bandwidth, k_nvm_mixed * known.write_bandwidth); // not known to any
}

TEST(Estimates, NothingKnownIsTheTable) {
  const Figures made = FigureEstimates().estimate(hbm, {});
  EXPECT_EQ(made.read_latency, usual_figures(hbm).read_latency);
  EXPECT_EQ(made.write_bandwidth, usual_figures(hbm).write_bandwidth);
}

TEST(Estimates, AreScaledByTheOtherDirectionThenByDramThenByTheRest) {
  const Figures &usual_nvm = usual_figures(nvm), &usual_hbm = usual_figures(hbm);
  FigureEstimates estimates;
  estimates.learn(cxl, {usual_figures(cxl).read_latency * 3, 0, 0, 0});
  EXPECT_DOUBLE_EQ(estimates.estimate(nvm, {}).read_latency, 3 * usual_nvm.read_latency);
  EXPECT_DOUBLE_EQ(estimates.estimate(nvm, {}).read_bandwidth, usual_nvm.read_bandwidth);
  for (const double scale : {0.5, 1.0}) // two DRAMs count by their mean
    estimates.learn(dram, {usual_figures(dram).read_latency * scale, 0,
                           usual_figures(dram).read_bandwidth * 2, 0});
  EXPECT_DOUBLE_EQ(estimates.estimate(hbm, {}).read_latency, 0.75 * usual_hbm.read_latency);
  EXPECT_DOUBLE_EQ(estimates.estimate(hbm, {}).read_bandwidth, 2 * usual_hbm.read_bandwidth);
  const Figures half = estimates.estimate(nvm, {0, 0, usual_nvm.read_bandwidth * 4, 0});
  EXPECT_DOUBLE_EQ(half.write_bandwidth, 4 * usual_nvm.write_bandwidth);
}

TEST(Estimates, MemoryWithoutFiguresIsRankedByItsKind) {
  const std::vector<Ranked> memories = {{hbm, {}, 1, 0}, {nvm, figures(30, 10, 300), 1, 0}};
  EXPECT_EQ(rank(memories, Preference::bandwidth), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(rank(memories, Preference::latency), (std::vector<std::size_t>{0, 1}));
  EXPECT_TRUE(rank({}, Preference::bandwidth).empty());
}

// Without figures every captured machine has the tiers, and the best node for each preference, that
// it has with them.
TEST(Estimates, DarkMachinesAreOrderedAsTheyAreWithFigures) {
  for (const char* name : {"dram-hbm-nvm", "icelake-optane", "xeon-max-flat", "dram-cxl",
                           "knl-snc4-flat", "xeon-max-snc4-2s", "nvdimm"}) {
    const Platform lit = captured_machine(name), dark = dark_machine(name);
    ASSERT_EQ(lit.tiers.size(), dark.tiers.size()) << name;
    for (std::size_t i = 0; i < lit.tiers.size(); ++i) {
      EXPECT_FALSE(are_known(dark.tiers[i].figures)) << name;
      EXPECT_EQ(lit.tiers[i].kind, dark.tiers[i].kind) << name;
      EXPECT_EQ(lit.tiers[i].nodes, dark.tiers[i].nodes) << name;
    }
    for (std::size_t p = 0; p < k_preferences; ++p)
      EXPECT_EQ(best_nodes_for(lit, static_cast<Preference>(p), 0).front(),
                best_nodes_for(dark, static_cast<Preference>(p), 0).front())
          << name << ", preference " << p;
  }
}

} // namespace
} // namespace omptier
