// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The advisor on workloads made by hand: placement by density against brute force over all
// placements, moves per region, reasons and pasted traits.
#include "advisor/advice.hpp"
#include "advisor/explain.hpp"
#include "advisor/move_advice.hpp"
#include "advisor/placement.hpp"
#include "advisor/traits_source.hpp"
#include "advisor_fast_and_slow.hpp"

#include <gtest/gtest.h>
#include <random>

namespace omptier {
namespace {

Figures figures(double read_ns, double write_ns, double read_gb, double write_gb) {
  return {read_ns, write_ns, read_gb * 1e9, write_gb * 1e9};
}

std::vector<TierChoice> three_tiers(std::uint64_t hbm, std::uint64_t dram, std::uint64_t nvm) {
  return {{MemoryKind::hbm, hbm, figures(130, 130, 400, 400)},
          {MemoryKind::dram, dram, figures(80, 80, 100, 100)},
          {MemoryKind::nvm, nvm, figures(300, 900, 30, 10)}};
}

SiteDemand site(const char* label, std::uint64_t bytes, std::uint64_t begin, std::uint64_t end,
                double scattered, double streamed) {
  SiteDemand made;
  made.label = label;
  made.live = {{begin, end, bytes}};
  made.demand.of(Manner::scattered_load) = scattered;
  made.demand.of(Manner::streamed_load) = streamed;
  return made;
}

// Thread time of a placement; infinite when a tier is over capacity at any moment.
double time_of(const Workload& workload, const std::vector<TierChoice>& tiers,
               const CostTable& costs, const std::vector<std::size_t>& where) {
  double time = 0;
  for (std::size_t i = 0; i < where.size(); ++i) {
    const LiveStretch& begins = workload.sites[i].live[0];
    std::uint64_t beside = 0; // in its tier at the moment it comes
    for (std::size_t j = 0; j < where.size(); ++j) {
      const LiveStretch& other = workload.sites[j].live[0];
      if (where[j] == where[i] && other.begin <= begins.begin && begins.begin < other.end)
        beside += other.bytes;
    }
    if (beside > tiers[where[i]].capacity) return INFINITY;
    time += costs[i][where[i]];
  }
  return time;
}

double best_time(const Workload& workload, const std::vector<TierChoice>& tiers,
                 const CostTable& costs) {
  std::vector<std::size_t> where(workload.sites.size(), 0);
  double best = INFINITY;
  while (true) {
    best = std::min(best, time_of(workload, tiers, costs, where));
    std::size_t digit = 0;
    while (digit < where.size() && ++where[digit] == tiers.size())
      where[digit++] = 0;
    if (digit == where.size()) return best;
  }
}

TEST(TierChoice, KindsLimitedToNothingAreNotUsed) {
  Platform platform;
  platform.tiers = {{MemoryKind::hbm, {1}, 64 * MiB, {}}, {MemoryKind::dram, {0}, 512 * MiB, {}}};
  CapacityByKind limits;
  limits[static_cast<std::size_t>(MemoryKind::hbm)] = 0;
  limits[static_cast<std::size_t>(MemoryKind::dram)] = 100 * MiB;
  const auto tiers = usable_tiers(platform, limits);
  ASSERT_EQ(tiers.size(), 1u);
  EXPECT_EQ(tiers[0].kind, MemoryKind::dram);
  EXPECT_EQ(tiers[0].capacity, 100 * MiB);
}

TEST(Density, TheHotSmallObjectGetsTheFastMemory) {
  Workload workload;
  workload.threads = 4;
  workload.sites = {site("index", 500 * MiB, 0, 100, 10, 100),
                    site("unionized", 40 * MiB, 0, 100, 100, 0),
                    site("nuclide", 40 * MiB, 0, 100, 5000, 0)};
  const auto tiers = three_tiers(0, 60 * MiB, 2048 * MiB);
  const CostTable costs = cost_table(workload, tiers);
  const Placement placement = place_by_density(workload, tiers, costs);
  EXPECT_EQ(placement.tier_of_site, (std::vector<std::size_t>{2, 2, 1}));
  EXPECT_GT(placement.saved, 0);
}

// malloc takes it from DRAM, whatever room faster memory has.
TEST(Density, WhatNoPlanPlacesIsNotInFastMemory) {
  Workload workload;
  workload.sites = {site("small", 10 * MiB, 0, 1, 100, 100)};
  workload.sites[0].by_plan = false;
  const auto tiers = three_tiers(100 * MiB, 100 * MiB, 100 * MiB);
  EXPECT_EQ(place_by_density(workload, tiers, cost_table(workload, tiers)).tier_of_site,
            std::vector<std::size_t>{1});
}

TEST(Density, SomethingTooLargeForEverythingIsNowhere) {
  Workload workload;
  workload.sites = {site("huge", 5000 * MiB, 0, 1, 1, 0)};
  const auto tiers = three_tiers(MiB, MiB, MiB);
  const Placement placement = place_by_density(workload, tiers, cost_table(workload, tiers));
  EXPECT_EQ(placement.tier_of_site[0], Placement::k_nowhere);
  EXPECT_EQ(placement.saved, 0);
}

TEST(Density, AnUnusedObjectStaysOutOfFastMemory) {
  Workload workload;
  workload.sites = {site("idle", 10 * MiB, 0, 1, 0, 0)};
  const auto tiers = three_tiers(64 * MiB, 64 * MiB, 64 * MiB);
  EXPECT_EQ(place_by_density(workload, tiers, cost_table(workload, tiers)).tier_of_site[0], 2u);
}

// Capacity over time is never broken.
TEST(Density, IsTheBestOfAllPlacements) {
  std::mt19937_64 random(20260101);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int instance = 0; instance < 200; ++instance) {
    Workload workload;
    workload.threads = 1 + static_cast<unsigned>(below(8));
    for (int i = 0; i < 7; ++i) {
      const std::uint64_t begin = below(80);
      SiteDemand made = site("s", (1 + below(60)) * MiB, begin, begin + 1 + below(60),
                             static_cast<double>(below(1000)), static_cast<double>(below(5000)));
      made.demand.of(Manner::scattered_store) = static_cast<double>(below(800));
      workload.sites.push_back(made);
    }
    const auto tiers = three_tiers(40 * MiB, 80 * MiB, 4096 * MiB);
    const CostTable costs = cost_table(workload, tiers);
    const Placement placement = place_by_density(workload, tiers, costs);
    const double reached = time_of(workload, tiers, costs, placement.tier_of_site);
    ASSERT_TRUE(std::isfinite(reached));
    const double slowest = time_of(workload, tiers, costs, std::vector<std::size_t>(7, 2));
    const double possible = slowest - best_time(workload, tiers, costs);
    EXPECT_NEAR(slowest - reached, placement.saved, 1e-6 * slowest);
    EXPECT_NEAR(slowest - reached, possible, 1e-6 * slowest) << "instance " << instance;
  }
}

Workload two_hot_in_turn(double accesses_per_region, std::uint64_t visits) {
  Workload workload;
  workload.threads = 4;
  workload.sites = {site("a", 48 * MiB, 0, 100, accesses_per_region, 0),
                    site("b", 48 * MiB, 0, 100, accesses_per_region * 0.99, 0)};
  workload.regions = {{"sweep_a", visits, visits}, {"sweep_b", visits, visits}};
  workload.sites[0].by_region = {{0, workload.sites[0].demand}};
  workload.sites[1].by_region = {{1, workload.sites[1].demand}};
  return workload;
}

TEST(Moves, PayWhenEachVisitIsLong) {
  const Workload workload = two_hot_in_turn(4e8, 4);
  const auto tiers = three_tiers(0, 60 * MiB, 4096 * MiB);
  const Placement home = place_by_density(workload, tiers, cost_table(workload, tiers));
  ASSERT_EQ(home.tier_of_site, (std::vector<std::size_t>{1, 2}));
  const auto moves = moves_that_pay(workload, tiers, home);
  ASSERT_EQ(moves.size(), 2u); // b comes in for its region, and a comes back for its own
  EXPECT_EQ(moves[0].site, 1u);
  EXPECT_EQ(moves[0].region, 1u);
  EXPECT_EQ(moves[1].site, 0u);
  EXPECT_EQ(moves[1].region, 0u);
  for (const RegionMove& move : moves)
    EXPECT_EQ(move.tier, 1u);
}

// Whatever one visit saves.
TEST(Moves, OfHardlyAnyTimeAreNone) {
  Workload workload = two_hot_in_turn(4e8, 4);
  workload.rest = 1e15;
  const auto tiers = three_tiers(0, 60 * MiB, 4096 * MiB);
  const Placement home = place_by_density(workload, tiers, cost_table(workload, tiers));
  EXPECT_TRUE(moves_that_pay(workload, tiers, home).empty());
}

TEST(Moves, DoNotPayWhenVisitsAreShort) {
  const Workload workload = two_hot_in_turn(4e8, 100000);
  const auto tiers = three_tiers(0, 60 * MiB, 4096 * MiB);
  const Placement home = place_by_density(workload, tiers, cost_table(workload, tiers));
  EXPECT_TRUE(moves_that_pay(workload, tiers, home).empty());
}

// Stretches of a region that begin behind barriers, at the region's numbers behind the others.
void add_stretches(Workload& workload, std::size_t region, std::size_t site, unsigned stretches,
                   std::uint64_t visits) {
  for (unsigned i = 0; i < stretches; ++i) {
    WorkloadRegion stretch;
    stretch.label = "from a barrier on";
    stretch.entries = stretch.entered_anew = visits;
    stretch.part_of = region;
    stretch.barriers = {i};
    Demand demand = workload.sites[site].demand_in(region);
    demand *= 1.0 / stretches;
    workload.sites[site].by_region.push_back(
        {static_cast<std::uint32_t>(workload.regions.size()), demand});
    workload.regions.push_back(stretch);
  }
}

TEST(Moves, OfARegionsStretchesWhereTheyAreHotInTurn) {
  Workload workload = two_hot_in_turn(4e8, 1);
  workload.sites[1].by_region[0].region = 0; // one region, entered once
  for (const std::size_t site : {0u, 1u})
    add_stretches(workload, 0, site, 1, 4);
  std::string why_not;
  ASSERT_TRUE(is_consistent(workload, why_not)) << why_not;
  const auto tiers = three_tiers(0, 60 * MiB, 4096 * MiB);
  const Placement home = {{1, 2}, 0};
  const auto moves = moves_that_pay(workload, tiers, home);
  ASSERT_EQ(moves.size(), 2u);
  EXPECT_EQ(moves[0].region, 3u);
  EXPECT_EQ(moves[0].site, 1u);
  EXPECT_EQ(moves[1].region, 2u);
  EXPECT_EQ(moves[1].site, 0u);
  for (const std::size_t stretch : {2u, 3u}) // it is not known where they begin
    workload.regions[stretch].entered_anew = 0;
  EXPECT_TRUE(moves_that_pay(workload, tiers, home).empty());
}

// The first array makes room, and is accessed in a third stretch, for which it cannot come back.
TEST(Moves, WhatIsLostWhereABeginIsNotKnownCounts) {
  for (const double part : {0.001, 2.0}) {
    Workload workload = two_hot_in_turn(4e8, 1);
    workload.sites[1].by_region[0].region = 0;
    add_stretches(workload, 0, 1, 1, 4); // 2
    Demand demand = workload.sites[0].demand;
    workload.sites[0].demand *= 1 + part;
    workload.sites[0].by_region[0].demand *= 1 + part;
    WorkloadRegion unknown;
    unknown.part_of = 0;
    demand *= part;
    workload.sites[0].by_region.push_back({3, demand});
    workload.regions.push_back(unknown);
    const auto tiers = three_tiers(0, 60 * MiB, 4096 * MiB);
    EXPECT_EQ(moves_that_pay(workload, tiers, {{1, 2}, 0}).empty(), part > 1) << part;
  }
}

TEST(Moves, OfStretchesNotOfOneThread) {
  Workload workload = two_hot_in_turn(4e8, 1);
  workload.sites[1].by_region[0].region = 0;
  for (const std::size_t site : {0u, 1u})
    add_stretches(workload, 0, site, 1, 4);
  const auto tiers = three_tiers(0, 60 * MiB, 4096 * MiB);
  EXPECT_FALSE(moves_that_pay(workload, tiers, {{1, 2}, 0}).empty());
  workload.threads = 1;
  EXPECT_TRUE(moves_that_pay(workload, tiers, {{1, 2}, 0}).empty());
}

TEST(Moves, OfTheWholeRegionWhereItsStretchesWantTheSame) {
  Workload workload = two_hot_in_turn(4e8, 4);
  add_stretches(workload, 1, 1, 2, 4);
  const auto tiers = three_tiers(0, 60 * MiB, 4096 * MiB);
  const auto moves = moves_that_pay(workload, tiers, {{1, 2}, 0});
  ASSERT_EQ(moves.size(), 2u);
  EXPECT_EQ(moves[0].region, 1u);
  EXPECT_EQ(moves[1].region, 0u);
}

// Dividing what does not fit gains less than moving it, where moving pays.
TEST(Moves, ComeBeforeDividing) {
  const auto tiers = three_tiers(0, 60 * MiB, 4096 * MiB);
  for (const std::uint64_t visits : {4, 100000}) {
    Workload workload = two_hot_in_turn(4e8, visits);
    for (std::size_t i = 0; i < workload.sites.size(); ++i) {
      workload.sites[i].site = i;
      workload.sites[i].block_bytes = workload.sites[i].peak_bytes();
    }
    const Advice advice = advise(workload, tiers);
    EXPECT_EQ(advice.moves.empty(), visits > 4);
    EXPECT_EQ(advice.workload.sites.size(), visits > 4 ? 3u : 2u);
  }
}

// What the runtime cannot move out leaves no room.
TEST(Moves, NoneWherePartsOfADividedSiteStay) {
  Workload workload = two_hot_in_turn(4e8, 4);
  workload.sites[0].ranges = {{0, 48 * MiB}};
  const auto tiers = three_tiers(0, 60 * MiB, 4096 * MiB);
  const Placement home = place_by_density(workload, tiers, cost_table(workload, tiers));
  ASSERT_EQ(home.tier_of_site, (std::vector<std::size_t>{1, 2}));
  EXPECT_TRUE(moves_that_pay(workload, tiers, home).empty());
}

// What no plan places takes only the room that is left.
TEST(Moves, BesideWhatNoPlanPlaces) {
  Workload workload = two_hot_in_turn(4e8, 4);
  workload.sites.push_back(site("small", 30 * MiB, 0, 100, 1e6, 0));
  workload.sites.back().by_plan = false;
  const auto tiers = three_tiers(0, 60 * MiB, 4096 * MiB);
  const Placement home = place_by_density(workload, tiers, cost_table(workload, tiers));
  EXPECT_FALSE(moves_that_pay(workload, tiers, home).empty());
}

// Parts leave room for one of two that a region wants.
TEST(Moves, WhatFitsBesidePartsOfADividedSite) {
  Workload workload = two_hot_in_turn(4e8, 4);
  workload.sites.push_back(site("c", 40 * MiB, 0, 100, 3.9e8, 0));
  workload.sites[2].by_region = {{1, workload.sites[2].demand}};
  workload.sites.push_back(site("part", 20 * MiB, 0, 100, 9e8, 0));
  workload.sites[3].ranges = {{0, 20 * MiB}};
  const auto tiers = three_tiers(0, 70 * MiB, 4096 * MiB);
  const Placement home = {{1, 2, 2, 1}, 0};
  const auto moves = moves_that_pay(workload, tiers, home);
  ASSERT_FALSE(moves.empty());
  for (const RegionMove& move : moves)
    EXPECT_NE(move.site, 3u);
  EXPECT_EQ(std::ranges::count_if(
                moves, [](const RegionMove& move) { return move.region == 1 && move.tier == 1; }),
            1);
}

// Both are hot in the region: what it would move in saves hardly more than what makes room loses.
TEST(Moves, NoneThatDisplacesAsMuchAsItSaves) {
  Workload workload = two_hot_in_turn(4e8, 1);
  workload.sites[0].by_region = {{1, workload.sites[0].demand}};
  workload.sites[0].by_region[0].demand *= 0.9899;
  const auto tiers = three_tiers(0, 60 * MiB, 4096 * MiB);
  const Placement home = {{1, 2}, 0};
  EXPECT_TRUE(moves_that_pay(workload, tiers, home).empty());
  workload.sites[0].by_region[0].demand *= 0.1;
  EXPECT_FALSE(moves_that_pay(workload, tiers, home).empty());
}

// Its loop computes for as long as it waits in the slow memory.
TEST(Moves, NoneForALoopThatWorksMeanwhile) {
  Workload workload = two_hot_in_turn(4e8, 4);
  const auto tiers = three_tiers(0, 60 * MiB, 4096 * MiB);
  const Placement home = {{1, 2}, 0};
  workload.sites[1].by_loop = {{0, 1}};
  workload.loop_work = {0};
  const auto alone = moves_that_pay(workload, tiers, home);
  ASSERT_FALSE(alone.empty());
  workload.loop_work = {2 * alone[0].saved};
  const auto beside = moves_that_pay(workload, tiers, home);
  ASSERT_FALSE(beside.empty());
  EXPECT_LT(beside[0].saved, 0.5 * alone[0].saved);
  workload.loop_work = {20 * alone[0].saved};
  EXPECT_TRUE(moves_that_pay(workload, tiers, home).empty());
}

TEST(Moves, NoneWhenBothFit) {
  const Workload workload = two_hot_in_turn(4e8, 4);
  const auto tiers = three_tiers(0, 200 * MiB, 4096 * MiB);
  const Placement home = place_by_density(workload, tiers, cost_table(workload, tiers));
  EXPECT_TRUE(moves_that_pay(workload, tiers, home).empty());
}

TEST(Explain, ReasonNamesShareIntervalMannerAndGain) {
  Workload workload;
  workload.sites = {site("hot", 10 * MiB, 0, 1, 100, 0), site("cold", 90 * MiB, 0, 1, 0, 5)};
  workload.sites[0].share = 0.5;
  workload.sites[0].share_low = 0.45;
  workload.sites[0].share_high = 0.55;
  const auto tiers = three_tiers(0, 60 * MiB, 2048 * MiB);
  const CostTable costs = cost_table(workload, tiers);
  EXPECT_EQ(reason_for(workload, tiers, costs, 0, 1, all_peaks(workload)),
            "50.0 % (45.0 % to 55.0 %) of misses on 10.0 % of the bytes, mostly scattered loads; "
            "DRAM saves 73 % of its time against NVM");
}

TEST(Explain, WhatWouldBeFasterAloneInASlowerKindIsSaid) {
  const auto tiers = three_tiers(60 * MiB, 60 * MiB, 2048 * MiB); // HBM, DRAM, NVM
  EXPECT_EQ(better_alone_text(tiers, {2, 1, 3}, 0),
            "; alone it would be faster in DRAM, but not beside what its loops access too");
  EXPECT_EQ(better_alone_text(tiers, {1, 2, 3}, 0), "");
  EXPECT_EQ(better_alone_text(tiers, {1, 2, 3}, 2), ""); // no room: others' reasons
  EXPECT_EQ(better_alone_text(tiers, {2, 1.99, 3}, 0), "");
}

TEST(Explain, TraitsCanBePasted) {
  Workload workload;
  workload.sites = {site("grid->nuclides (grids.c:41)", 10 * MiB, 0, 1, 100, 3)};
  workload.sites[0].share = 0.571;
  const std::string name = identifier_from(workload.sites[0].label);
  EXPECT_EQ(name, "grid__nuclides");
  EXPECT_EQ(traits_as_c(workload.sites[0], MemoryKind::dram, name),
            "/* grid->nuclides (grids.c:41) */\n"
            "static omp_alloctrait_t grid__nuclides_traits[] = {\n"
            "    {ompx_atk_access_pattern, ompx_atv_access_pattern_random},\n"
            "    {ompx_atk_access_mode, ompx_atv_access_mode_read_only},\n"
            "    {ompx_atk_importance, 571},\n"
            "    {ompx_atk_placement, ompx_atv_placement_preferred},\n"
            "};\n"
            "static omp_allocator_handle_t grid__nuclides_alloc;\n"
            "__attribute__((constructor)) static void make_grid__nuclides_alloc(void) {\n"
            "  grid__nuclides_alloc = omp_init_allocator(ompx_dram_mem_space, 4, "
            "grid__nuclides_traits);\n"
            "}\n");
  EXPECT_EQ(traits_as_cpp(workload.sites[0], MemoryKind::hbm, name),
            "// grid->nuclides (grids.c:41)\n"
            "static const ompx::allocator_handle grid__nuclides_alloc(\n"
            "    ompx_hbm_mem_space, ompx::traits{}\n"
            "        .pattern(ompx::access_pattern::random)\n"
            "        .mode(ompx::access_mode::read_only)\n"
            "        .importance(571)\n"
            "        .placement(ompx::placement::preferred));\n");
  EXPECT_EQ(fortran_module({name}, traits_as_fortran(workload.sites[0], MemoryKind::nvm, name)),
            "module advised_allocators\n"
            "  use ompx_memory\n"
            "  implicit none\n"
            "  integer(ompx_handle_kind) :: grid__nuclides_alloc = ompx_null_allocator\n"
            "contains\n"
            "  subroutine make_advised_allocators()\n"
            "    ! grid->nuclides (grids.c:41)\n"
            "    grid__nuclides_alloc = ompx_init_allocator(ompx_nvm_mem_space, &\n"
            "      [ompx_trait(ompx_atk_access_pattern, ompx_atv_access_pattern_random), &\n"
            "       ompx_trait(ompx_atk_access_mode, ompx_atv_access_mode_read_only), &\n"
            "       ompx_trait(ompx_atk_importance, 571_ompx_value_kind), &\n"
            "       ompx_trait(ompx_atk_placement, ompx_atv_placement_preferred)])\n"
            "  end subroutine\n"
            "end module\n");
}

TEST(Explain, TraitsAreInTheLanguageOfTheSource) {
  EXPECT_EQ(language_of_file("/a/solver.c"), SourceLanguage::c);
  EXPECT_EQ(language_of_file("/a/solver.C"), SourceLanguage::cpp);
  EXPECT_EQ(language_of_file("grids.cpp"), SourceLanguage::cpp);
  EXPECT_EQ(language_of_file("grids.hpp"), SourceLanguage::cpp);
  EXPECT_EQ(language_of_file("heat.F90"), SourceLanguage::fortran);
  EXPECT_EQ(language_of_file("old.f"), SourceLanguage::fortran);
  EXPECT_EQ(language_of_file("grids.h"), SourceLanguage::none); // C or C++
  EXPECT_EQ(language_of_file("Makefile"), SourceLanguage::none);
}

TEST(Workload, InconsistenciesAreFound) {
  std::string why;
  Workload workload;
  workload.sites = {site("a", 1, 0, 10, 0, 0)};
  EXPECT_TRUE(is_consistent(workload, why));
  workload.sites[0].live.push_back({5, 12, 1});
  EXPECT_FALSE(is_consistent(workload, why));
  workload.sites[0].live.pop_back();
  workload.sites[0].share = 1.5;
  EXPECT_FALSE(is_consistent(workload, why));
}

} // namespace
} // namespace omptier
