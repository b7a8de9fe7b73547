// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pages that the kernel made, until user code touches them.
#include "machine/timing/pages.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace {

class TimingPages : public testing::Test {
protected:
  made_pages* pages_ = made_pages_create();
  page_misses taken_{};

  ~TimingPages() override { std::free(pages_); }
  void clear(std::uint64_t page, std::uint32_t lines) {
    for (std::uint32_t i = 0; i < lines; ++i) {
      const page_misses one{0, 1, i > 0, 80};
      made_pages_add(pages_, page, &one);
    }
  }
};

TEST_F(TimingPages, WaitForTheFirstTouch) {
  clear(7, 64);
  const page_misses copied{3, 1, 4, 400}; // loads of the page that is copied, then a store
  made_pages_add(pages_, 7, &copied);
  clear(8, 10);
  EXPECT_FALSE(made_pages_take(pages_, 9, &taken_));
  ASSERT_TRUE(made_pages_take(pages_, 7, &taken_));
  EXPECT_EQ(taken_.loads, 3u);
  EXPECT_EQ(taken_.stores, 65u);
  EXPECT_EQ(taken_.streamed, 67u);
  EXPECT_EQ(taken_.nanoseconds, 64u * 80 + 400);
  EXPECT_FALSE(made_pages_take(pages_, 7, &taken_)); // the second touch is none
  ASSERT_TRUE(made_pages_take(pages_, 8, &taken_));
  EXPECT_EQ(taken_.stores, 10u);
  EXPECT_EQ(made_pages_unplaced(pages_), 0u);
}

TEST_F(TimingPages, KeepTwoClearsOfAHugePage) {
  clear(5, 128);
  ASSERT_TRUE(made_pages_take(pages_, 5, &taken_));
  EXPECT_EQ(taken_.stores, 128u);
  clear(5, 128 + 64); // used by the kernel before
  ASSERT_TRUE(made_pages_take(pages_, 5, &taken_));
  EXPECT_EQ(taken_.stores, 64u);
  EXPECT_EQ(made_pages_unplaced(pages_), 128u);
}

TEST_F(TimingPages, GiveWayToOthersAndSaySo) {
  const std::uint64_t far = std::uint64_t{1} << 20; // pages: in the place of page 0
  clear(0, 64);
  clear(far, 32);
  EXPECT_EQ(made_pages_unplaced(pages_), 64u);
  EXPECT_FALSE(made_pages_take(pages_, 0, &taken_));
  ASSERT_TRUE(made_pages_take(pages_, far, &taken_));
  EXPECT_EQ(taken_.stores, 32u);
  clear(1, 64);
  made_pages_clear(pages_);
  EXPECT_FALSE(made_pages_take(pages_, 1, &taken_));
  EXPECT_EQ(made_pages_unplaced(pages_), 0u);
}

} // namespace
