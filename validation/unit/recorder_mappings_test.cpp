// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the program has mapped: whole, in parts, across several, against a map of single pages.
#include "recorder/mappings.hpp"

#include <gtest/gtest.h>
#include <map>
#include <random>

namespace omptier {
namespace {

TEST(Mappings, LeaveWhatIsNotUnmapped) {
  Mappings mappings;
  ASSERT_TRUE(mappings.add({100, 200, 1, 1, true}));
  unsigned gone = 0, left = 0;
  mappings.remove(
      140, 160, 1, [&](const Mapping& old) { gone += old.begin == 100 ? 1 : 0; },
      [&](const Mapping& rest) {
        left += (rest.begin == 160 && rest.end == 200 && rest.site == 1) ||
                        (rest.begin == 100 && rest.end == 140)
                    ? 1
                    : 0;
      });
  EXPECT_EQ(gone, 1u);
  EXPECT_EQ(left, 2u);
  EXPECT_EQ(mappings.size(), 2u);
  EXPECT_TRUE(mappings.is_consistent());
}

// One thread has unmapped three, of which another has got two again, and logged, meanwhile.
TEST(Mappings, WhatIsToldLateTakesNothingNewerAlong) {
  Mappings mappings;
  const auto nothing = [](const Mapping&) {};
  for (std::uint64_t i = 0; i < 3; ++i)
    ASSERT_TRUE(mappings.add({100 + 10 * i, 110 + 10 * i, i + 1, 7, true}));
  mappings.remove(105, 125, 4, nothing, nothing);
  ASSERT_TRUE(mappings.add({105, 125, 5, 9, true}));
  unsigned gone = 0;
  mappings.remove(100, 130, 4, [&](const Mapping& old) { gone += old.site == 7 ? 1 : 0; }, nothing);
  EXPECT_EQ(gone, 2u); // 100 to 105, 125 to 130
  EXPECT_EQ(mappings.size(), 1u);
  mappings.remove(100, 130, 5, [&](const Mapping& old) { gone += old.site == 9 ? 1 : 0; }, nothing);
  EXPECT_EQ(gone, 3u);
  EXPECT_EQ(mappings.size(), 0u);
}

TEST(Mappings, AgreeWithPagesOneByOne) {
  std::mt19937 random(1);
  Mappings mappings;
  std::map<std::uintptr_t, std::uint32_t> pages;   // what must be
  std::map<std::uintptr_t, std::uintptr_t> logged;   // begin -> end, as the log has it
  std::map<std::uintptr_t, std::uint32_t> site_of; // by begin
  for (std::uint32_t step = 1; step < 3000; ++step) {
    const std::uintptr_t begin = 1 + random() % 200, end = begin + 1 + random() % 30;
    mappings.remove(
        begin, end, step,
        [&](const Mapping& old) {
          ASSERT_EQ(logged.erase(old.begin), 1u);
          site_of.erase(old.begin);
        },
        [&](const Mapping& rest) {
          logged[rest.begin] = rest.end;
          site_of[rest.begin] = rest.site;
        });
    for (std::uintptr_t page = begin; page < end; ++page)
      pages.erase(page);
    if (random() % 3 != 0) {
      ASSERT_TRUE(mappings.add({begin, end, step, step, true}));
      logged[begin] = end;
      site_of[begin] = step;
      for (std::uintptr_t page = begin; page < end; ++page)
        pages[page] = step;
    }
    ASSERT_TRUE(mappings.is_consistent());
    ASSERT_EQ(mappings.size(), logged.size());
    std::size_t covered = 0;
    for (const auto& [from, to] : logged)
      for (std::uintptr_t page = from; page < to; ++page, ++covered)
        ASSERT_EQ(pages.at(page), site_of.at(from));
    ASSERT_EQ(covered, pages.size());
  }
}

} // namespace
} // namespace omptier
