// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops whose samples alternate are one loop; those that run long are not.
#include "analysis/loop_nests.hpp"

#include <gtest/gtest.h>

#include <random>

namespace omptier {
namespace {

constexpr std::uint64_t k_nest = 0x1000, k_first_loop = 0x1010, k_second_loop = 0x1020,
                        k_third_loop = 0x1030;

TEST(LoopNests, ShortOnesOfANestAreTogether) {
  LoopNests nests;
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i)
    nests.add(7 + i % 2, random() % 10 < 8 ? k_second_loop : k_first_loop, k_nest);
  const auto together = nests.together();
  EXPECT_EQ(together.at(k_first_loop), k_first_loop);
  EXPECT_EQ(together.at(k_second_loop), k_first_loop);
}

TEST(LoopNests, LongOnesAreNot) {
  LoopNests nests;
  for (int i = 0; i < 300; ++i)
    nests.add(7, i / 10 % 2 == 0 ? k_first_loop : k_second_loop, k_nest);
  EXPECT_TRUE(nests.together().empty());
}

TEST(LoopNests, ALongOneBesideShortOnes) {
  LoopNests nests;
  for (int sweep = 0; sweep < 10; ++sweep) {
    for (int i = 0; i < 40; ++i)
      nests.add(7, i % 2 == 0 ? k_third_loop : k_second_loop, k_nest);
    for (int i = 0; i < 40; ++i)
      nests.add(7, k_first_loop, k_nest);
  }
  const auto together = nests.together();
  EXPECT_EQ(together.count(k_first_loop), 0u);
  EXPECT_EQ(together.at(k_third_loop), k_second_loop);
}

TEST(LoopNests, OfOtherNestsThreadsOrTooFewSamplesNothingIsSaid) {
  LoopNests nests;
  for (int i = 0; i < 300; ++i) {
    nests.add(7, k_first_loop + i % 2, k_nest + i % 2); // each in a nest of its own
    nests.add(0, k_second_loop + i % 2, k_nest);
    nests.add(6, k_second_loop + i % 2, 0);
    nests.add(8 + i % 2, k_third_loop + i % 2, k_nest); // each on a thread of its own
  }
  for (int i = 0; i < 6; ++i)
    nests.add(9, i % 2 == 0 ? k_third_loop : k_second_loop, k_first_loop);
  EXPECT_TRUE(nests.together().empty());
}

} // namespace
} // namespace omptier
