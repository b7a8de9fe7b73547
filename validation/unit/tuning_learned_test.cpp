// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is learned from measured runs of programs whose accesses and work are known.
#include "tuning/learned.hpp"

#include "advisor/together.hpp"
#include "advisor_fast_and_slow.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace omptier {
namespace {

const std::vector<TierChoice> k_tiers = tiers(1024 * MiB);

// Arrays that one loop gathers from, with these shares of its accesses.
Workload workload_of(const std::vector<double>& shares, double work = 8e9) {
  Workload workload;
  workload.loop_work = {work};
  workload.rest = work / 8;
  workload.threads = 4;
  for (const double share : shares) {
    SiteDemand& site = workload.sites.emplace_back();
    site.site = workload.sites.size() - 1;
    site.live = {{0, 100, 40 * MiB}};
    site.demand.of(Manner::scattered_load) = 1e8 * share;
    site.by_loop = {{0, 1}};
    site.share = share;
  }
  return workload;
}

double time_of(const Workload& workload, const std::vector<std::size_t>& tiers) {
  return predicted_time(workload, k_tiers, tiers) + workload.rest;
}

using Placements = std::vector<std::vector<std::size_t>>;

// Figures of the truth, in another unit.
std::vector<MeasuredPlacement> measured(const Workload& truth, const Placements& placements,
                                        double noise = 0, double power = 1) {
  std::mt19937 bits(5);
  std::normal_distribution<double> normal(0, 1);
  std::vector<MeasuredPlacement> all;
  for (const auto& tiers : placements) {
    MeasuredPlacement& one = all.emplace_back(MeasuredPlacement{tiers, {}});
    for (int run = 0; run < 3; ++run)
      one.figures.push_back(1e-6 * std::pow(time_of(truth, tiers), power) *
                            std::exp(noise * normal(bits)));
  }
  return all;
}

const Placements k_one_at_a_time = {{1, 1, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}};

// How much faster the model says a placement is, over the truth.
double error_of(const Workload& believed, const Workload& truth,
                const std::vector<std::size_t>& tiers) {
  const std::vector<std::size_t> slow(tiers.size(), 1);
  return std::abs(time_of(believed, slow) / time_of(believed, tiers) /
                      (time_of(truth, slow) / time_of(truth, tiers)) -
                  1);
}

TEST(Learned, FactorsOfASiteAndOfWorkAreFound) {
  const Workload believed = workload_of({0.4, 0.3, 0.3}), truth = workload_of({0.4, 0.6, 0.3}, 4e9);
  const Learned learned = learn(believed, k_tiers, measured(truth, k_one_at_a_time));
  EXPECT_EQ(learned.placements, 4u);
  EXPECT_EQ(learned.runs, 12u);
  EXPECT_GT(learned.error_before, 0.05);
  EXPECT_LT(learned.error_after, 0.01);
  EXPECT_GT(learned.accesses.at(1), 1.4 * learned.accesses.at(0));
  EXPECT_LT(learned.work, 0.9);
  EXPECT_TRUE(is_usable(learned));
  Workload corrected = believed;
  correct(corrected, learned);
  const std::vector<std::size_t> unseen = {0, 0, 1}; // two at a time was not measured
  EXPECT_LT(error_of(corrected, truth, unseen), 0.2 * error_of(believed, truth, unseen));
  double before = 0, after = 0;
  for (const auto& tiers : k_one_at_a_time) {
    before += std::log(time_of(believed, tiers));
    after += std::log(time_of(corrected, tiers));
  }
  EXPECT_NEAR(after, before, 1e-9) << "times themselves stay";
}

TEST(Learned, ARightModelStaysAsItIs) {
  const Workload believed = workload_of({0.4, 0.3, 0.3});
  const Learned learned = learn(believed, k_tiers, measured(believed, k_one_at_a_time));
  EXPECT_LT(learned.error_before, 1e-9);
  EXPECT_FALSE(learned.changes_any());
  const Learned noisy = learn(believed, k_tiers, measured(believed, k_one_at_a_time, 0.01));
  EXPECT_FALSE(noisy.changes_any()) << noisy.error_before << " " << noisy.error_after;
  EXPECT_EQ(noisy.error_after, noisy.error_before);
}

// What the model cannot express stays within bounds, or changes nothing.
TEST(Learned, AMisfitIsNoFactor) {
  const Workload believed = workload_of({0.4, 0.3, 0.3});
  const Placements all = {{1, 1, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0},
                          {0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {0, 0, 0}};
  for (const double power : {-3.0, -1.0, 0.2, 0.5, 0.8, 1.3, 3.0, 20.0}) {
    const Learned learned = learn(believed, k_tiers, measured(believed, all, 0, power));
    EXPECT_TRUE(is_usable(learned)) << power;
    EXPECT_LE(learned.error_after, learned.error_before) << power;
    for (const auto& [site, factor] : learned.accesses) {
      EXPECT_LT(factor / learned.others, k_most_learned * 1.01) << power;
      EXPECT_GT(factor / learned.others, 0.99 / k_most_learned) << power;
    }
  }
}

TEST(Learned, NoiseMisleadsLittle) {
  const Workload believed = workload_of({0.4, 0.3, 0.3}), truth = workload_of({0.4, 0.6, 0.3}, 4e9);
  Workload corrected = believed;
  correct(corrected, learn(believed, k_tiers, measured(truth, k_one_at_a_time, 0.01)));
  for (const std::vector<std::size_t>& tiers : {std::vector<std::size_t>{0, 0, 1}, {0, 1, 0}})
    EXPECT_LT(error_of(corrected, truth, tiers), 0.05);
}

TEST(Learned, SitesThatStayedKeepTheirPart) {
  const Workload believed = workload_of({0.4, 0.3, 0.3}), truth = workload_of({0.4, 0.1, 0.3});
  const Learned learned = learn(believed, k_tiers, measured(truth, {{1, 1, 1}, {1, 0, 1}}));
  EXPECT_FALSE(learned.accesses.contains(0));
  ASSERT_TRUE(learned.accesses.contains(1));
  EXPECT_LT(learned.accesses.at(1), 0.8 * learned.others);
}

TEST(Learned, OnePlacementSaysNothing) {
  const Workload believed = workload_of({0.4, 0.3, 0.3});
  const Learned learned = learn(believed, k_tiers, measured(believed, {{1, 1, 1}}));
  EXPECT_FALSE(learned.changes_any());
  EXPECT_FALSE(learn(believed, k_tiers, {}).changes_any());
  Workload corrected = believed;
  correct(corrected, learned);
  EXPECT_DOUBLE_EQ(time_of(corrected, {0, 1, 1}), time_of(believed, {0, 1, 1}));
}

} // namespace
} // namespace omptier
