// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What threads lose that stream through a divided array: parts of one site in two memories.
#include "advisor/in_step.hpp"
#include "advisor/together.hpp"
#include "advisor_fast_and_slow.hpp"

#include <gtest/gtest.h>

using namespace omptier;

namespace {

constexpr double k_lines = 1e8;

// A loop over two arrays: the first, in DRAM, and the second, of which a part is in each memory.
struct DividedArray : testing::Test {
  Workload workload;
  const std::vector<TierChoice> memories = tiers(1024 * MiB);
  std::vector<std::size_t> where = {0, 0, 1};

  DividedArray() {
    workload.loop_work = {0};
    workload.threads = 36;
    for (std::size_t site = 0; site < 3; ++site) {
      SiteDemand& one = workload.sites.emplace_back();
      one.site = site == 0 ? 0 : 1;
      one.by_loop = {{0, 1}};
      if (site > 0) one.ranges = {{(site - 1) * MiB, site * MiB}};
      set_lines(site, Manner::streamed_load, site == 0 ? 2 * k_lines : k_lines);
    }
  }
  void set_lines(std::size_t site, Manner manner, double lines) {
    workload.sites[site].demand = {};
    workload.sites[site].demand.of(manner) = lines;
  }
  double time(std::vector<std::size_t> placement) const {
    return predicted_time(workload, memories, placement);
  }
  double lost() const { return lost_in_step(workload, memories, where); }
};

TEST_F(DividedArray, LosesWhatItTakesInStepByTheThreadsRoot) {
  const double in_step = (time({0, 0, 0}) + time({0, 1, 1})) / 2;
  ASSERT_GT(in_step, 1.05 * time(where));
  EXPECT_NEAR(lost(), (in_step - time(where)) / 6, 1e-6 * in_step);
  workload.threads = 400;
  const double more = (time({0, 0, 0}) + time({0, 1, 1})) / 2 - time(where);
  EXPECT_NEAR(lost(), more / 20, 1e-6 * in_step);
}

TEST_F(DividedArray, IsNamed) {
  std::vector<std::size_t> losing;
  EXPECT_GT(lost_in_step(workload, memories, where, &losing), 0);
  EXPECT_EQ(losing, std::vector<std::size_t>{1});
}

TEST_F(DividedArray, LosesNothingThatIsScattered) {
  for (const std::size_t part : {1, 2})
    set_lines(part, Manner::scattered_load, k_lines);
  EXPECT_EQ(lost(), 0);
}

TEST_F(DividedArray, LosesNothingThatIsInOneMemory) {
  where = {0, 1, 1};
  EXPECT_EQ(lost(), 0);
  where = {0, 0, 1};
  workload.sites[2].site = 2; // another array
  EXPECT_EQ(lost(), 0);
  workload.sites[2].site = 1;
  workload.sites[1].blocks = {0}, workload.sites[2].blocks = {1}; // other blocks of the site
  EXPECT_EQ(lost(), 0);
}

// Small blocks are dealt to both memories in turn: no thread is in one of them at a time.
TEST_F(DividedArray, LosesNothingThatIsDealtInTurn) {
  for (const std::size_t part : {1, 2})
    workload.sites[part].small_blocks = true;
  EXPECT_EQ(lost(), 0);
}

// What stays where it is, or has no room.
TEST_F(DividedArray, LosesNothingThatIsNotPlaced) {
  where[2] = Placement::k_nowhere;
  EXPECT_EQ(lost(), 0);
  where[2] = 1;
  workload.sites[2].placeable = false;
  EXPECT_EQ(lost(), 0);
}

} // namespace
