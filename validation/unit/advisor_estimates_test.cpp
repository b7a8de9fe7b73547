// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Advice for machines whose firmware does not say how fast their memories are: the captured ones
// without their figures. Where they are in the dark, arrays go where they go with figures, and
// text and plan say that speeds are estimated.
#include "advisor/advice.hpp"
#include "advisor/explain.hpp"
#include "advisor_fast_and_slow.hpp"
#include "dark_machine.hpp"
#include "model/cost.hpp"

#include <gtest/gtest.h>

namespace omptier {
namespace {

SiteDemand site(const char* label, std::uint64_t bytes, Manner manner, double accesses) {
  SiteDemand made;
  made.label = label;
  made.live = {{0, 100, bytes}};
  made.demand.of(manner) = accesses;
  made.share = made.share_low = made.share_high = accesses / 100;
  return made;
}

// Two hot arrays, one looked up at random and one streamed, and a large one that is hardly used.
// threads: enough to make a stream wait for bandwidth; on a captured machine, one for each CPU.
Workload three_arrays(unsigned threads = 64) {
  Workload workload;
  workload.threads = threads;
  workload.sites = {site("looked up", 40 * MiB, Manner::scattered_load, 50),
                    site("streamed", 40 * MiB, Manner::streamed_load, 40),
                    site("cold", 700 * MiB, Manner::scattered_load, 1)};
  return workload;
}

CapacityByKind limits(std::uint64_t dram, std::uint64_t hbm) {
  CapacityByKind made;
  made[static_cast<std::size_t>(MemoryKind::dram)] = dram;
  made[static_cast<std::size_t>(MemoryKind::hbm)] = hbm;
  return made;
}

std::vector<MemoryKind> kinds_of(const Advice& advice) {
  std::vector<MemoryKind> kinds;
  for (const std::size_t tier : advice.placement.tier_of_site)
    kinds.push_back(tier == Placement::k_nowhere ? MemoryKind::unknown : advice.tiers[tier].kind);
  return kinds;
}

struct Case {
  const char* machine;
  CapacityByKind capacity;
  std::vector<MemoryKind> kinds;
};

TEST(EstimatedAdvice, PlacesAsWithFigures) {
  using enum MemoryKind;
  for (const auto& [machine, capacity, kinds] :
       {Case{"dram-hbm-nvm", limits(64 * MiB, 64 * MiB), {dram, hbm, nvm}},
        Case{"icelake-optane", limits(64 * MiB, 0), {dram, nvm, nvm}},
        Case{"nvdimm", limits(64 * MiB, 0), {dram, nvm, nvm}},
        Case{"dram-cxl", limits(64 * MiB, 0), {dram, cxl, cxl}},
        Case{"xeon-max-flat", limits(800 * MiB, 64 * MiB), {dram, hbm, dram}},
        Case{"knl-snc4-flat", limits(800 * MiB, 64 * MiB), {dram, hbm, dram}}}) {
    const Platform lit = captured_machine(machine), dark = dark_machine(machine);
    EXPECT_EQ(kinds_of(advise(three_arrays(4), usable_tiers(lit, capacity))), kinds) << machine;
    const Advice advice = advise(three_arrays(), usable_tiers(dark, capacity));
    EXPECT_EQ(kinds_of(advice), kinds) << machine;
    EXPECT_GT(advice.placement.saved, 0) << machine;
    EXPECT_GT(reference_figures(dark.tiers).read_latency, 0) << machine;
  }
}

TEST(EstimatedAdvice, OneNodeWithoutFiguresIsPricedByItsKind) {
  Platform platform = captured_machine("dram-hbm-nvm");
  for (Tier& tier : platform.tiers)
    if (tier.kind == MemoryKind::nvm) tier.figures = {};
  const auto tiers = usable_tiers(platform, limits(64 * MiB, 64 * MiB));
  ASSERT_EQ(tiers.size(), 3u);
  for (const TierChoice& tier : tiers)
    EXPECT_EQ(tier.estimated, tier.kind == MemoryKind::nvm);
  EXPECT_GT(tiers[2].figures.read_latency, 2 * reference_figures(platform.tiers).read_latency);
  EXPECT_EQ(kinds_of(advise(three_arrays(), tiers)),
            (std::vector{MemoryKind::dram, MemoryKind::hbm, MemoryKind::nvm}));
}

TEST(EstimatedAdvice, ReasonsAndPlanSayIt) {
  const auto said = [](const Platform& platform) {
    const Advice advice = advise(three_arrays(), usable_tiers(platform, limits(64 * MiB, 0)));
    return reason_for(advice.workload, advice.tiers, advice.costs, 0,
                      advice.placement.tier_of_site[0], all_peaks(advice.workload));
  };
  EXPECT_NE(said(dark_machine("icelake-optane")).find("DRAM saves an estimated "),
            std::string::npos);
  EXPECT_EQ(said(captured_machine("icelake-optane")).find("estimated"), std::string::npos);

  const auto plan_for = [](const Platform& platform) {
    ProfileSummary summary; // of an empty program
    return plan_from(advise({}, usable_tiers(platform, {})), summary,
                     [](const Frame&) { return PortableFrame(); });
  };
  const Plan dark = plan_for(dark_machine("icelake-optane"));
  EXPECT_EQ(dark.estimated, (std::vector{MemoryKind::dram, MemoryKind::nvm}));
  const auto read = parse_plan(write_plan(dark), "plan");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->estimated, dark.estimated);
  EXPECT_EQ(write_plan(plan_for(captured_machine("icelake-optane"))).find("estimated"),
            std::string::npos);
}

} // namespace
} // namespace omptier
