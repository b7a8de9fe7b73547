// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which places of two profiles are the same, by made-up keys.
#include "cli/profile_pairs.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace omptier {
namespace {

using Keys = std::vector<PlaceKeys>;

// "0-1 1- -0": pairs of indices.
std::string paired(const Keys& a, const Keys& b, bool same_build = false) {
  std::string text;
  for (const ComparedPair& pair : pairs_of(a, b, same_build))
    text += (text.empty() ? "" : " ") + (pair.a ? std::to_string(*pair.a) : "") + "-" +
            (pair.b ? std::to_string(*pair.b) : "");
  return text;
}

TEST(ProfilePairs, TheSameBuildsPlacesAreTheSame) {
  EXPECT_EQ(paired({{"1", "x", "x (a.c:1)"}, {"2", "x", "x (a.c:1) #2"}},
                   {{"2", "x", "x (a.c:1)"}, {"1", "x", "x (a.c:1) #2"}}, true),
            "0-1 1-0");
  EXPECT_EQ(paired({}, {}), "");
}

TEST(ProfilePairs, AnotherBuildsAreFoundByNames) {
  EXPECT_EQ(
      paired({{"1", "f|malloc|grid", "grid (a.c:1)"}, {"2", "f|malloc|mesh", "mesh (a.c:2)"}},
             {{"8", "f|malloc|mesh", "mesh (a.c:9)"}, {"9", "f|malloc|grid", "grid (a.c:8)"}}),
      "0-1 1-0");
}

TEST(ProfilePairs, WhatIsNotUniqueIsNotGuessed) {
  const Keys two = {{"1", "same", "p (a.c:1)"}, {"2", "same", "q (a.c:2)"}};
  EXPECT_EQ(paired(two, {{"3", "same", "r (a.c:3)"}}), "0- 1- -0");
  // Another key may tell them apart.
  EXPECT_EQ(paired(two, {{"3", "same", "q (a.c:2)"}}), "0- 1-0");
}

TEST(ProfilePairs, LinesMoveBetweenBuildsOnly) {
  const Keys before = {{"1", "", "grid (a.c:1)"}}, after = {{"2", "", "grid (a.c:7)"}};
  EXPECT_EQ(paired(before, after), "0-0");
  EXPECT_EQ(paired(before, after, true), "0- -0");
}

TEST(ProfilePairs, WhatIsNotKnownIsNoKey) {
  EXPECT_EQ(paired({{"1", "", ""}}, {{"2", "", ""}}), "0- -0");
}

} // namespace
} // namespace omptier
