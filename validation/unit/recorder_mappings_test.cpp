// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the program has mapped: whole, in parts, across several, against a map of single pages.
#include "ompt/mappings.hpp"

#include <gtest/gtest.h>
#include <map>
#include <random>

namespace omptier {
namespace {

TEST(Mappings, LeaveWhatIsNotUnmapped) {
  Mappings mappings;
  ASSERT_TRUE(mappings.add(100, 200, 1));
  unsigned gone = 0, left = 0;
  mappings.remove(
      140, 160, [&](std::uintptr_t begin) { gone += begin == 100 ? 1 : 0; },
      [&](std::uintptr_t begin, std::uintptr_t end, std::uint32_t site) {
        left += (begin == 160 && end == 200 && site == 1) || (begin == 100 && end == 140) ? 1 : 0;
      });
  EXPECT_EQ(gone, 1u);
  EXPECT_EQ(left, 2u);
  EXPECT_EQ(mappings.size(), 2u);
  EXPECT_TRUE(mappings.is_consistent());
}

TEST(Mappings, AgreeWithPagesOneByOne) {
  std::mt19937 random(1);
  Mappings mappings;
  std::map<std::uintptr_t, std::uint32_t> pages;   // what must be
  std::map<std::uintptr_t, std::uintptr_t> told;   // begin -> end, as the log has it
  std::map<std::uintptr_t, std::uint32_t> site_of; // by begin
  for (std::uint32_t step = 1; step < 3000; ++step) {
    const std::uintptr_t begin = 1 + random() % 200, end = begin + 1 + random() % 30;
    mappings.remove(
        begin, end,
        [&](std::uintptr_t old) {
          ASSERT_EQ(told.erase(old), 1u);
          site_of.erase(old);
        },
        [&](std::uintptr_t from, std::uintptr_t to, std::uint32_t site) {
          told[from] = to;
          site_of[from] = site;
        });
    for (std::uintptr_t page = begin; page < end; ++page)
      pages.erase(page);
    if (random() % 3 != 0) {
      ASSERT_TRUE(mappings.add(begin, end, step));
      told[begin] = end;
      site_of[begin] = step;
      for (std::uintptr_t page = begin; page < end; ++page)
        pages[page] = step;
    }
    ASSERT_TRUE(mappings.is_consistent());
    ASSERT_EQ(mappings.size(), told.size());
    std::size_t covered = 0;
    for (const auto& [from, to] : told)
      for (std::uintptr_t page = from; page < to; ++page, ++covered)
        ASSERT_EQ(pages.at(page), site_of.at(from));
    ASSERT_EQ(covered, pages.size());
  }
}

} // namespace
} // namespace omptier
