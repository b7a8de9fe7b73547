// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks split over two kinds of memory, on a machine that is not there: node 0 (DRAM) holds every
// page until it is moved, node 1 (HBM) takes as many as the test allows. What the ledger says is
// held against where the pages are after each step. (The same on a real kernel with two nodes:
// virtual.allocators.first-come.)
#include "dram_and_hbm.hpp"
#include "placement/placer.hpp"
#include "real_calls.hpp"
#include "units.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <sys/mman.h>

using namespace omptier;

namespace {

std::set<std::uintptr_t> on_hbm; // pages
std::size_t hbm_pages = 0;       // that node 1 has room for
std::set<std::uintptr_t> stuck;  // pages that cannot be moved now
bool moves_refused = false;
bool locks_memory = false; // as if the program had called mlockall
int small_page_advice = 0; // MADV_NOHUGEPAGE less MADV_HUGEPAGE that took it back

long move(int, unsigned long count, void** pages, const int* nodes, int* status, int) {
  if (nodes != nullptr && moves_refused) return errno = EPERM, -1;
  for (unsigned long i = 0; i < count; ++i) {
    const auto page = reinterpret_cast<std::uintptr_t>(pages[i]);
    if (nodes != nullptr && stuck.count(page) == 0) {
      if (nodes[i] == 0) on_hbm.erase(page);
      if (nodes[i] == 1 && on_hbm.size() < hbm_pages) on_hbm.insert(page);
    }
    status[i] = on_hbm.count(page) != 0 ? 1 : 0;
  }
  return 0;
}
long bind(void*, std::size_t, int, const unsigned long*, unsigned long, unsigned) {
  return 0;
}
int advise(void* at, std::size_t bytes, int advice) {
  if (advice == MADV_NOHUGEPAGE) ++small_page_advice;
  if (advice == MADV_HUGEPAGE && small_page_advice > 0) --small_page_advice;
  if (advice == MADV_DONTNEED && locks_memory) return errno = EINVAL, -1;
  if (advice == MADV_DONTNEED || advice == 24) { // 24: of locked pages
    const auto begin = reinterpret_cast<std::uintptr_t>(at);
    on_hbm.erase(on_hbm.lower_bound(begin), on_hbm.lower_bound(begin + bytes));
    advice = MADV_DONTNEED;
  }
  return real->advise(at, bytes, advice);
}

class FrontTest : public ::testing::Test {
protected:
  void SetUp() override {
    real = &os();
    fake_ = *real;
    fake_.move_pages = move;
    fake_.bind_memory = bind;
    fake_.advise = advise;
    replace_os_calls(&fake_);
    on_hbm.clear();
    stuck.clear();
    moves_refused = locks_memory = false;
    small_page_advice = 0;
    hbm_pages = ~std::size_t{0};
  }
  void TearDown() override {
    expect_true_books();
    placer_.reset();
    replace_os_calls(nullptr);
  }
  void use(std::size_t hbm_capacity) {
    placer_ = std::make_unique<Placer>(dram_and_hbm(1024 * k_mib),
                                       only(MemoryKind::hbm, hbm_capacity));
  }
  void* in_dram(std::size_t bytes) {
    BlockRequest request;
    request.bytes = bytes;
    request.reason = PlacementReason::strategy;
    bool fresh = false;
    Refusal why = Refusal::none;
    void* block = placer_->place(1, request, fresh, why);
    EXPECT_NE(block, nullptr) << describe(why);
    return block;
  }
  std::uint64_t used(MemoryKind kind) { return placer_->ledger().used(kind); }
  std::uint64_t cached() { return placer_->cached_bytes(MemoryKind::dram); }
  Extent& extent_of(void* block) { return *placer_->ranges().owner(block); }
  // The ledger of the faster kind is the pages that lie there.
  void expect_true_books() {
    std::string why_not;
    EXPECT_TRUE(placer_->is_sound(why_not)) << why_not;
    EXPECT_EQ(used(MemoryKind::hbm), on_hbm.size() * page_size());
  }
  std::unique_ptr<Placer> placer_;

private:
  OsCalls fake_{};
};

TEST_F(FrontTest, AsMuchAsTheCapacityAllows) {
  use(3 * k_mib);
  void* block = in_dram(10 * k_mib);
  EXPECT_EQ(placer_->fill_front(block, 0), 3 * k_mib);
  EXPECT_EQ(used(MemoryKind::hbm), 3 * k_mib);
  EXPECT_EQ(used(MemoryKind::dram), 7 * k_mib);
  EXPECT_EQ(small_page_advice, huge_page_size() != 0 ? 1 : 0) << "of the unit with the border";
  EXPECT_EQ(*on_hbm.begin(), reinterpret_cast<std::uintptr_t>(block)) << "its begin";
  EXPECT_EQ(placer_->fill_front(block, 0), 0u) << "once";
  expect_true_books();
  EXPECT_TRUE(placer_->release(block));
  EXPECT_EQ(used(MemoryKind::hbm), 0u);
  EXPECT_EQ(used(MemoryKind::dram), 0u) << "a split block is not kept for another";
  EXPECT_EQ(small_page_advice, 0) << "its border is left in small pages";
}

TEST_F(FrontTest, ShrinkingTakesFromTheEndThenFromTheFront) {
  use(3 * k_mib);
  void* block = in_dram(10 * k_mib);
  ASSERT_EQ(placer_->fill_front(block, 0), 3 * k_mib);
  Extent& extent = extent_of(block);
  extent.space->shrink(extent, 5 * k_mib);
  EXPECT_EQ(used(MemoryKind::hbm), 3 * k_mib);
  EXPECT_EQ(used(MemoryKind::dram), 2 * k_mib);
  expect_true_books();
  extent.space->shrink(extent, 1 * k_mib);
  EXPECT_EQ(used(MemoryKind::hbm), 1 * k_mib);
  EXPECT_EQ(used(MemoryKind::dram), 0u);
  EXPECT_EQ(extent.apart, 1 * k_mib);
  expect_true_books();
  EXPECT_TRUE(placer_->release(block));
  EXPECT_EQ(used(MemoryKind::hbm), 0u);
}

TEST_F(FrontTest, WhatArrivedBeforeTheNodeWasFullIsCounted) {
  use(6 * k_mib);
  hbm_pages = 2 * k_mib / page_size();
  void* block = in_dram(10 * k_mib);
  EXPECT_EQ(placer_->fill_front(block, 0), 2 * k_mib);
  EXPECT_EQ(used(MemoryKind::hbm), 2 * k_mib);
  EXPECT_EQ(used(MemoryKind::dram), 8 * k_mib);
  expect_true_books();
  EXPECT_TRUE(placer_->release(block));
}

TEST_F(FrontTest, TooLittleIsMovedBack) {
  use(6 * k_mib);
  hbm_pages = 3;
  void* block = in_dram(10 * k_mib);
  EXPECT_EQ(placer_->fill_front(block, 0), 0u);
  EXPECT_TRUE(on_hbm.empty());
  EXPECT_EQ(used(MemoryKind::dram), 10 * k_mib);
  EXPECT_EQ(small_page_advice, 0);
  expect_true_books();
  EXPECT_TRUE(placer_->release(block));
  EXPECT_EQ(used(MemoryKind::dram), cached()) << "whole, so it may be kept";
}

TEST_F(FrontTest, PagesBehindAHoleAreMovedBack) {
  use(6 * k_mib);
  void* block = in_dram(10 * k_mib);
  stuck.insert(reinterpret_cast<std::uintptr_t>(block) + 4 * k_mib);
  EXPECT_EQ(placer_->fill_front(block, 0), 4 * k_mib);
  EXPECT_EQ(on_hbm.size(), 4 * k_mib / page_size());
  expect_true_books();
  EXPECT_TRUE(placer_->release(block));
}

TEST_F(FrontTest, ARefusingKernelChangesNothing) {
  use(6 * k_mib);
  moves_refused = true;
  void* block = in_dram(10 * k_mib);
  EXPECT_EQ(placer_->fill_front(block, 0), 0u);
  EXPECT_EQ(used(MemoryKind::dram), 10 * k_mib);
  expect_true_books();
  EXPECT_TRUE(placer_->release(block));
}

TEST_F(FrontTest, LockedMemoryIsGivenBackToo) {
  use(6 * k_mib);
  locks_memory = true;
  void* block = in_dram(10 * k_mib);
  ASSERT_EQ(placer_->fill_front(block, 0), 6 * k_mib);
  EXPECT_TRUE(placer_->release(block));
  EXPECT_EQ(used(MemoryKind::hbm), 0u);
  EXPECT_EQ(used(MemoryKind::dram), 0u);
  expect_true_books();
}

// A huge page across the border would move as a whole: it is given up, locked or not.
TEST_F(FrontTest, TheBordersHugePageIsGivenUp) {
  const bool huge = huge_page_size() == 2 * k_mib;
  for (const bool locked : {false, true}) {
    use(3 * k_mib);
    locks_memory = locked;
    auto* block = static_cast<char*>(in_dram(10 * k_mib));
    std::memset(block, 1, 10 * k_mib);
    ASSERT_EQ(placer_->fill_front(block, 0), 3 * k_mib);
    EXPECT_EQ(block[3 * k_mib + 5], huge ? 0 : 1) << locked;
    EXPECT_EQ(block[4 * k_mib], 1) << "another one";
    EXPECT_TRUE(placer_->release(block));
  }
}

// Parts of a plan: the hottest first, whole huge pages, as far as there is room.
TEST_F(FrontTest, PartsTakeWhatIsLeftInTheirOrder) {
  const std::size_t unit = huge_page_size() != 0 ? huge_page_size() : 2 * k_mib;
  use(5 * unit / 2);
  void* block = in_dram(10 * unit);
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  EXPECT_EQ(placer_->place_part(block, 8 * unit + 100, 9 * unit - 100, 0), unit) << "rounded";
  const std::size_t left = huge_page_size() != 0 ? unit : 3 * unit / 2;
  EXPECT_EQ(placer_->place_part(block, 2 * unit, 6 * unit, 0), left);
  EXPECT_EQ(on_hbm.size() * page_size(), unit + left);
  EXPECT_EQ(*on_hbm.begin(), begin + 2 * unit);
  EXPECT_EQ(*on_hbm.rbegin(), begin + 9 * unit - page_size());
  EXPECT_EQ(extent_of(block).apart, unit + left);
  EXPECT_EQ(used(MemoryKind::dram), 10 * unit - unit - left);
  expect_true_books();
  EXPECT_EQ(placer_->place_part(block, 8 * unit, 10 * unit, 0), 0u) << "overlaps the first";
  EXPECT_EQ(placer_->place_part(block, 0, unit, 1), 0u) << "its own kind";
  EXPECT_EQ(placer_->place_part(block, 20 * unit, 30 * unit, 0), 0u) << "beyond the object";
  Extent& extent = extent_of(block);
  extent.space->shrink(extent, 3 * unit); // a part ends earlier, the other one is gone
  expect_true_books();
  EXPECT_EQ(extent.apart, unit);
  EXPECT_TRUE(placer_->release(block));
  EXPECT_EQ(used(MemoryKind::hbm), 0u);
  EXPECT_EQ(used(MemoryKind::dram), 0u);
  EXPECT_EQ(small_page_advice, 0);
}

TEST_F(FrontTest, SmallPartsAreExactToThePage) {
  use(64 * k_mib);
  void* block = in_dram(10 * k_mib);
  const std::size_t page = page_size();
  EXPECT_EQ(placer_->place_part(block, 3 * page + 1, 5 * page - 1, 0), 2 * page);
  EXPECT_EQ(placer_->place_part(block, 9 * page, 10 * page, 0), page);
  EXPECT_EQ(*on_hbm.begin(), reinterpret_cast<std::uintptr_t>(block) + 3 * page);
  EXPECT_EQ(on_hbm.size(), 3u) << "the second did not undo the first in the same huge page";
  expect_true_books();
  EXPECT_TRUE(placer_->release(block));
}

// A cached block's huge pages are there already: they are divided, not moved whole.
TEST_F(FrontTest, PartsOfAReusedBlock) {
  use(64 * k_mib);
  void* block = in_dram(10 * k_mib);
  std::memset(block, 1, 10 * k_mib);
  ASSERT_TRUE(placer_->release(block));
  void* again = in_dram(10 * k_mib);
  ASSERT_EQ(again, block);
  EXPECT_EQ(placer_->place_part(again, 2 * k_mib, 10 * k_mib, 0), 8 * k_mib);
  expect_true_books();
  EXPECT_TRUE(placer_->release(again));
}

} // namespace
