// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Advice for very many objects: how long it takes, how much memory, and how far from the bound.
#include "advisor/advice.hpp"
#include "advisor/together.hpp"
#include "work_units.hpp"

#include <gtest/gtest.h>

#include <string>
#include <sys/resource.h>

namespace omptier {
namespace {

constexpr std::uint64_t MiB = 1 << 20;

class Numbers {
public:
  explicit Numbers(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

private:
  std::mt19937_64 random_;
};

std::vector<TierChoice> three_tiers(std::uint64_t hbm, std::uint64_t dram, std::uint64_t nvm) {
  return {{MemoryKind::hbm, hbm, {130, 130, 400e9, 400e9}},
          {MemoryKind::dram, dram, {80, 80, 100e9, 100e9}},
          {MemoryKind::nvm, nvm, {300, 900, 30e9, 10e9}}};
}

struct Measured {
  Advice advice;
  double units = 0;
};
Measured measure(Workload workload, std::vector<TierChoice> tiers, const std::string& name) {
  Measured measured;
  measured.units =
      work_units([&] { measured.advice = advise(std::move(workload), std::move(tiers)); });
  const Advice& advice = measured.advice;
  testing::Test::RecordProperty(name + "_units", std::to_string(measured.units));
  testing::Test::RecordProperty(name + "_bound", std::to_string(advice.least_time / advice.time));
  return measured;
}

// By the convex time, no more than 1 % from what dividing every object could reach.
void expect_near_the_bound(const Advice& advice) {
  EXPECT_GT(advice.least_time, 0);
  EXPECT_LE(advice.least_time, advice.time * (1 + 1e-9));
  const double convex = advice.workload.rest + predicted_time(advice.workload, advice.tiers,
                                                              advice.placement.tier_of_site,
                                                              LoopTimes::Which::convex);
  EXPECT_LE(convex, advice.time * (1 + 1e-9));
  EXPECT_LT(convex, 1.01 * advice.least_time);
}

// As many objects as LULESH has, most of them short-lived.
TEST(Scale, ThousandsOfShortLivedObjectsTakeASecondAtMost) {
  Numbers numbers(6714);
  Workload workload;
  workload.threads = 16;
  workload.loop_work.resize(100);
  for (std::size_t i = 0; i < 6714; ++i) {
    SiteDemand& site = workload.sites.emplace_back();
    site.site = i;
    const std::uint64_t begin = numbers.below(900'000);
    const std::uint64_t life = i < 100 ? 100'000 : 1 + numbers.below(2000);
    site.live = {{begin, begin + life, (1 + numbers.below(4096)) << 10}};
    for (double& accesses : site.demand.accesses)
      accesses = static_cast<double>(numbers.below(10000));
    site.by_loop = {{static_cast<std::uint32_t>(numbers.below(100)), 0.9}};
    if (i % 10 == 0) site.block_bytes = site.live[0].bytes;
  }
  const Measured measured =
      measure(std::move(workload), three_tiers(30 * MiB, 60 * MiB, 4096 * MiB), "lulesh");
  expect_near_the_bound(measured.advice);
  EXPECT_LT(measured.units, 12); // 1 s where a unit is 0.08 s
}

// Temporaries of a few sites in each of thousands of steps.
TEST(Scale, FewSitesThatComeThousandsOfTimesTakeSeconds) {
  Numbers numbers(20);
  Workload workload;
  workload.threads = 16;
  for (std::size_t i = 0; i < 20; ++i) {
    SiteDemand& site = workload.sites.emplace_back();
    site.site = i;
    for (std::uint64_t step = 0; step < 3000; ++step)
      site.live.push_back({100 * step + i, 100 * step + 50 + i, (1 + numbers.below(4096)) << 10});
    for (double& accesses : site.demand.accesses)
      accesses = static_cast<double>(numbers.below(1'000'000));
  }
  const Measured measured =
      measure(std::move(workload), three_tiers(10 * MiB, 20 * MiB, 4096 * MiB), "temporaries");
  EXPECT_LE(measured.advice.least_time, measured.advice.time * (1 + 1e-9));
  EXPECT_LT(measured.units, 60); // 5 s where a unit is 0.08 s
}

enum class Regions { while_alive, all };
// One object in ten lives for many regions, the others for up to four. Demands differ by up to 125.
Workload objects_in_regions(std::size_t objects, std::uint32_t regions, Regions accessed_in,
                            std::size_t loops) {
  Numbers numbers(100);
  Workload workload;
  workload.threads = 16;
  workload.loop_work.resize(loops);
  workload.regions.assign(regions, {"region", 10, 10});
  workload.sites.resize(objects);
  for (std::size_t i = 0; i < objects; ++i) {
    SiteDemand& site = workload.sites[i];
    site.site = i;
    auto first = static_cast<std::uint32_t>(numbers.below(regions));
    auto end = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(regions, first + 1 + numbers.below(i % 10 == 0 ? regions : 4)));
    site.live = {{first, end, (64 + numbers.below(4096)) << 10}};
    const auto heat = static_cast<double>((1 + numbers.below(5)) * (1 + numbers.below(5)) *
                                          (1 + numbers.below(5)));
    if (accessed_in == Regions::all) {
      first = 0;
      end = regions;
    }
    site.by_region.reserve(end - first);
    for (std::uint32_t region = first; region < end; ++region) {
      Demand demand;
      for (double& accesses : demand.accesses)
        accesses = heat * static_cast<double>(numbers.below(1000));
      site.by_region.push_back({region, demand});
      site.demand += demand;
    }
    if (loops > 0) site.by_loop = {{static_cast<std::uint32_t>(numbers.below(loops)), 0.9}};
    if (i % 10 == 0) site.block_bytes = site.live[0].bytes;
  }
  return workload;
}

// Room for a sixth of what lives at once.
std::vector<TierChoice> tiers_for(std::size_t objects) {
  return three_tiers(objects * MiB / 50, objects * MiB / 20, objects * 4 * MiB);
}

TEST(Scale, ManyObjectsInRegionsAreNearTheBound) {
  const Measured measured =
      measure(objects_in_regions(6000, 100, Regions::while_alive, 50), tiers_for(6000), "regions");
  expect_near_the_bound(measured.advice);
}

// Labelled all (advisor.cmake): 30 s and 1 GiB at most, where a unit is 0.08 s.
constexpr double k_most_units = 375;
constexpr std::size_t k_objects = 100'000;

long most_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

TEST(ScaleOfAll, HundredThousandObjectsInHundredRegions) {
  const Measured measured =
      measure(objects_in_regions(k_objects, 100, Regions::all, 0), tiers_for(k_objects), "all");
  expect_near_the_bound(measured.advice);
  EXPECT_LT(measured.units, k_most_units);
  EXPECT_LT(most_mebibytes(), 1024);
}

TEST(ScaleOfAll, HundredThousandObjectsInLoops) {
  const Measured measured = measure(objects_in_regions(k_objects, 100, Regions::while_alive, 1000),
                                    tiers_for(k_objects), "loops");
  expect_near_the_bound(measured.advice);
  EXPECT_LT(measured.units, k_most_units);
}

// Each begins and ends at a time of its own.
TEST(ScaleOfAll, HundredThousandObjectsEachInItsTime) {
  Workload workload = objects_in_regions(k_objects, 100, Regions::while_alive, 0);
  Numbers numbers(7);
  for (SiteDemand& site : workload.sites) {
    LiveStretch& live = site.live[0];
    live.begin = live.begin * 1'000'000 + numbers.below(900'000);
    live.end = live.end * 1'000'000 - numbers.below(90'000);
  }
  const Measured measured = measure(std::move(workload), tiers_for(k_objects), "times");
  expect_near_the_bound(measured.advice);
  EXPECT_LT(measured.units, k_most_units);
}

} // namespace
} // namespace omptier
