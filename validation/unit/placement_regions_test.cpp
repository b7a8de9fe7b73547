// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What becomes of runs in regions when the kernel refuses, when they are closed, and when they are
// cached beside blocks that come and go.
#include "base/os.hpp"
#include "placement/placer.hpp"
#include "real_calls.hpp"
#include "units.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <sys/mman.h>

using namespace omptier;

namespace {

constexpr std::size_t k_usual = 270'336; // bytes of a block: 66 pages

int refusals = 0;        // of the next calls that make pages writable
bool keeps_pages = false; // no page is given up: memory is locked, before Linux 5.18

char* touched_late = nullptr; // just before pages may no longer be written

int protect(void* at, std::size_t bytes, int protection) {
  if (protection == PROT_READ && touched_late != nullptr) *touched_late = 1;
  if (protection == (PROT_READ | PROT_WRITE) && refusals > 0)
    return --refusals, errno = ENOMEM, -1;
  return real->protect(at, bytes, protection);
}
int advise_unless_kept(void* at, std::size_t bytes, int advice) {
  constexpr int k_dontneed_locked = 24;
  if (keeps_pages && (advice == MADV_DONTNEED || advice == k_dontneed_locked))
    return errno = EINVAL, -1;
  return real->advise(at, bytes, advice);
}

class RegionsTest : public ::testing::Test {
protected:
  void SetUp() override {
    real = &os();
    calls_ = *real;
    calls_.protect = protect;
    calls_.advise = advise_unless_kept;
    replace_os_calls(&calls_);
    refusals = 0;
    keeps_pages = false;
    touched_late = nullptr;
  }
  void TearDown() override {
    refusals = 0;
    for (const auto& [begin, extent] : taken_)
      space_.give_back(*extent, false);
    space_.drop_cache(~std::size_t{0});
    expect_sound();
    EXPECT_EQ(used(), 0u);
    replace_os_calls(nullptr);
  }
  // A block, whose bytes are nobody else's; or null.
  Extent* take(std::size_t bytes, std::size_t alignment = 16) {
    bool fresh = false;
    Extent* extent = space_.take(bytes, bytes, alignment, ExtentUse::block, fresh);
    if (extent == nullptr) return nullptr;
    const auto above = taken_.lower_bound(extent->begin);
    const bool overlaps =
        (above != taken_.end() && above->first < extent->end()) ||
        (above != taken_.begin() && std::prev(above)->second->end() > extent->begin);
    EXPECT_FALSE(overlaps) << "two have one address";
    taken_[extent->begin] = extent;
    return extent;
  }
  void give_back(Extent* extent) {
    taken_.erase(extent->begin);
    space_.give_back(*extent, true);
  }
  // Blocks until, behind so many that it is worth it, the rest of the last huge page is open.
  void take_until_open() {
    for (int i = 0; i < 200 && space_.open_bytes() == 0; ++i)
      take(k_usual);
    EXPECT_EQ(space_.open_bytes() != 0, huge_page_size() != 0);
  }
  void fill_a_region() {
    for (std::size_t filled = 0; filled < 512 * k_mib && !HasFailure(); filled += k_usual)
      ASSERT_NE(take(k_usual), nullptr);
    expect_sound();
  }
  std::uint64_t used() const { return ledger_.used(MemoryKind::dram); }
  void expect_sound() {
    std::string why_not;
    ASSERT_TRUE(space_.is_sound(why_not, true)) << why_not;
  }
  std::map<std::uintptr_t, Extent*> taken_;
  ReservedRanges ranges_;
  Ledger ledger_{CapacityByKind()};
  ExtentSpace space_{ranges_, ledger_, MemoryKind::dram, {}};

private:
  OsCalls calls_{};
};

// ---- The kernel does not make pages writable.

// Each block is refused once, that with which the next run is opened too.
TEST_F(RegionsTest, ARefusedBlockIsNotHandedOutTwice) {
  for (int i = 0; i < 200; ++i) {
    refusals = 1;
    take(k_usual);
    refusals = 0;
    ASSERT_NO_FATAL_FAILURE(expect_sound());
    take(k_usual);
  }
  fill_a_region();
}

// Refused between a run that is open, which is closed with it, and one that is not.
TEST_F(RegionsTest, ARefusedBlockBesideAnOpenRunIsNotHandedOutTwice) {
  take_until_open();
  refusals = 1;
  EXPECT_EQ(take(3 * k_mib + page_size(), 65536), nullptr);
  refusals = 0;
  EXPECT_EQ(space_.open_bytes(), 0u);
  ASSERT_NO_FATAL_FAILURE(expect_sound());
  fill_a_region();
}

// ---- Open runs are closed.

// What is open has pages where a neighbour was touched first: a huge page of both.
TEST_F(RegionsTest, WhatIsClosedHoldsNoPages) {
  constexpr std::size_t k_blocks = 40, k_bytes = 1100 << 10, k_unit = 2 * k_mib;
  for (std::size_t i = 0; i < k_blocks; ++i)
    std::memset(reinterpret_cast<void*>(take(k_bytes, k_unit)->begin), 1, k_bytes);
  const std::uintptr_t begin = taken_.begin()->first;
  const auto present = [&] {
    PageCensus census;
    EXPECT_TRUE(count_pages(begin, taken_.rbegin()->first + k_unit - begin, census));
    return census.present();
  };
  const std::size_t open = space_.open_bytes(); // most of it present, where there are huge pages
  EXPECT_EQ(open != 0, huge_page_size() != 0);
  EXPECT_LE(present(), used());
  EXPECT_EQ(space_.drop_cache(~std::size_t{0}), open);
  EXPECT_EQ(used(), k_blocks * k_bytes);
  EXPECT_LE(present(), used());
  expect_sound();
  for (const auto& [at, extent] : taken_)
    for (const std::size_t byte : {std::size_t{0}, k_bytes - 1})
      EXPECT_EQ(reinterpret_cast<const char*>(at)[byte], 1) << "a neighbour's";
}

TEST_F(RegionsTest, WhatIsClosedAfterARefusalHoldsNoPages) {
  take_until_open();
  std::memset(reinterpret_cast<void*>(taken_.rbegin()->first), 1, k_usual);
  const std::size_t open = space_.open_bytes();
  refusals = 1;
  EXPECT_EQ(take(open + 2 * k_usual), nullptr);
  refusals = 0;
  EXPECT_EQ(space_.open_bytes(), 0u);
  expect_sound();
}

// The neighbour's first touch, in another thread, makes a huge page of both while one is dropped.
TEST_F(RegionsTest, WhatIsDroppedWhileItsNeighbourIsTouchedHoldsNoPages) {
  Extent *first = take(k_mib), *second = take(k_mib);
  ASSERT_EQ(first->end(), second->begin);
  touched_late = reinterpret_cast<char*>(first->begin);
  taken_.erase(second->begin);
  space_.give_back(*second, false);
  touched_late = nullptr;
  EXPECT_EQ(used(), k_mib);
  expect_sound();
}

TEST_F(RegionsTest, WhatCannotBeGivenUpStaysOpenAndCharged) {
  take_until_open();
  const std::size_t open = space_.open_bytes();
  const std::uint64_t charged = used();
  keeps_pages = true;
  EXPECT_EQ(space_.drop_cache(~std::size_t{0}), 0u);
  keeps_pages = false;
  EXPECT_EQ(space_.open_bytes(), open);
  EXPECT_EQ(used(), charged);
  expect_sound();
  std::memset(reinterpret_cast<void*>(take(k_usual)->begin), 1, k_usual); // of what is open still
}

// ---- What is cached grows old.

// Joined and divided again and again, the rest of a cached run is no younger for that.
TEST_F(RegionsTest, WhatIsUsedAgainDoesNotKeepWhatLiesIdleBesideIt) {
  for (const bool first : {true, false}) { // the block that comes and goes lies before the rest
    Extent* idle = take(31 * k_mib);
    Extent* busy = first ? nullptr : take(k_usual);
    ASSERT_TRUE(idle != nullptr && idle->shares());
    give_back(idle);
    const std::uint64_t freed = monotonic_nanoseconds();
    EXPECT_EQ(space_.cached_bytes(), 31 * k_mib);
    for (int i = 0; i < 5; ++i) {
      if (busy != nullptr) give_back(busy);
      busy = take(k_usual);
    }
    give_back(busy);
    expect_sound();
    EXPECT_EQ(space_.cached_bytes(), 31 * k_mib + (first ? 0 : k_usual));
    space_.drop_older(freed);
    EXPECT_LE(space_.cached_bytes(), k_usual) << first;
    expect_sound();
    space_.drop_cache(~std::size_t{0});
  }
}

// Freed just now, a block is not dropped with what lies there since long.
TEST_F(RegionsTest, WhatWasFreedJustNowStaysBesideWhatIsOld) {
  constexpr std::uint64_t k_decay = 40'000'000; // ns
  ReservedRanges ranges;
  ExtentSpace space(ranges, ledger_, MemoryKind::dram, {}, k_decay);
  bool fresh = false;
  const auto some = [&] {
    return space.take(k_usual, k_usual, 16, ExtentUse::block, fresh, false);
  };
  Extent *before = some(), *block = some(), *behind = some();
  ASSERT_EQ(before->end(), block->begin);
  ASSERT_EQ(block->end(), behind->begin);
  space.give_back(*before, true);
  space.give_back(*behind, true);
  const std::uint64_t freed = monotonic_nanoseconds();
  while (monotonic_nanoseconds() - freed <= k_decay / 2) {
  }
  space.give_back(*block, true);
  EXPECT_EQ(space.cached_bytes(), 3 * k_usual);
  EXPECT_EQ(space.drop_older(freed), 2 * k_usual);
  EXPECT_EQ(space.cached_bytes(), k_usual);
  std::string why_not;
  EXPECT_TRUE(space.is_sound(why_not, true)) << why_not;
  space.drop_cache(~std::size_t{0});
}

} // namespace
