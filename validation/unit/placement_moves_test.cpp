// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves that do not go through: pages that stay behind, or cannot come back, on nodes that are not
// there (made_up_nodes.hpp). Whatever happens, the ledger counts every page under the kind that it
// lies in, and what is granted as required is there.
#include "dram_and_hbm.hpp"
#include "made_up_nodes.hpp"
#include "placement/placed_ranges.hpp"
#include "placement/placer.hpp"
#include "real_calls.hpp"
#include "units.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <semaphore>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace omptier;

namespace {

constexpr std::size_t k_block_bytes = 10 * k_mib;

std::uintptr_t block_begin = 0; // of the block whose pages the verdicts speak of
bool one_way = false;           // what arrived does not go back
std::uint64_t percent_stay = 0; // of the block's pages, the last ones

bool stays(std::uintptr_t page) {
  return page - block_begin >= k_block_bytes / 100 * (100 - percent_stay);
}
int some_stay(std::uintptr_t page, int from, int to) {
  if (from == 0 && to == 1 && stays(page)) return -EBUSY;
  return from == 1 && one_way ? -EBUSY : 0;
}

class MovesTest : public ::testing::Test {
protected:
  void SetUp() override {
    before_ = &os();
    calls_ = made_up_nodes::calls();
    replace_os_calls(&calls_);
    one_way = false;
    percent_stay = 0;
    use(1024 * k_mib);
  }
  void TearDown() override {
    expect_sound();
    placer_.reset();
    replace_os_calls(before_);
  }
  // DRAM on node 0, HBM on node 1, or on 1 and 2.
  void use(std::size_t hbm_capacity) {
    constexpr std::size_t k_most = 1024 * k_mib;
    Platform platform = dram_and_hbm(k_most);
    if (two_hbm_) {
      platform.nodes.push_back(platform.nodes[1]);
      platform.nodes[2].number = 2;
      platform.tiers[0].nodes = {1, 2};
    }
    placer_ = std::make_unique<Placer>(std::move(platform), only(MemoryKind::hbm, hbm_capacity));
  }
  void* in_dram(bool required = false, std::size_t touched = k_block_bytes) {
    void* block = block_in_dram(*placer_, k_block_bytes, required);
    if (touched != 0) std::memset(block, 1, touched);
    block_begin = reinterpret_cast<std::uintptr_t>(block);
    return block;
  }
  void stay(std::uint64_t percent) {
    percent_stay = percent;
    made_up_nodes::verdict = some_stay;
  }
  bool move(void* block, MemoryKind kind) {
    std::uint64_t moved = 0;
    return placer_->move_block(block, kind, moved) == MoveResult::moved;
  }
  std::uint64_t used(MemoryKind kind) { return placer_->ledger().used(kind); }
  std::uint64_t lies_on(void* block, unsigned node, std::size_t bytes = k_block_bytes) {
    PageCensus census;
    count_pages(reinterpret_cast<std::uintptr_t>(block), bytes, census);
    return census.node[node];
  }
  void expect_sound() {
    std::string why_not;
    EXPECT_TRUE(placer_->is_sound(why_not, true)) << why_not;
  }
  bool two_hbm_ = false;
  std::unique_ptr<Placer> placer_;

private:
  OsCalls calls_{};
  const OsCalls* before_ = nullptr;
};

TEST_F(MovesTest, WhereMostStayTheOthersComeBack) {
  void* block = in_dram();
  stay(60);
  EXPECT_FALSE(move(block, MemoryKind::hbm));
  EXPECT_EQ(lies_on(block, 1), 0u);
  EXPECT_EQ(used(MemoryKind::hbm), 0u);
  EXPECT_EQ(used(MemoryKind::dram), k_block_bytes);
  expect_sound();
  EXPECT_TRUE(placer_->release(block));
  EXPECT_EQ(placer_->cached_bytes(MemoryKind::dram), k_block_bytes) << "as if nothing had been";
}

TEST_F(MovesTest, WhatCannotComeBackIsCountedAndNotHandedOutAgain) {
  void* first = in_dram(true);
  EXPECT_TRUE(placer_->release(first));
  void* block = in_dram(); // seen present and verified when it was the first one's
  ASSERT_EQ(block, first);
  stay(60);
  one_way = true;
  EXPECT_FALSE(move(block, MemoryKind::hbm));
  const std::uint64_t left = lies_on(block, 1);
  EXPECT_EQ(left, k_block_bytes / 10 * 4 / page_size() * page_size());
  EXPECT_EQ(used(MemoryKind::hbm), left);
  EXPECT_EQ(used(MemoryKind::dram), k_block_bytes);
  expect_sound();
  EXPECT_TRUE(placer_->release(block));
  EXPECT_EQ(used(MemoryKind::hbm), 0u);
  void* again = in_dram(true);
  EXPECT_EQ(lies_on(again, 1), 0u) << "required, and partly in another kind";
  EXPECT_TRUE(placer_->release(again));
}

TEST_F(MovesTest, WhatStaysBehindIsCountedThere) {
  void* block = in_dram();
  stay(10);
  EXPECT_TRUE(move(block, MemoryKind::hbm));
  const std::uint64_t behind = lies_on(block, 0);
  EXPECT_GT(behind, 0u);
  EXPECT_EQ(used(MemoryKind::hbm), k_block_bytes);
  EXPECT_EQ(used(MemoryKind::dram), behind);
  expect_sound();
  stay(0); // back home, and there again: nothing is counted twice any more
  EXPECT_TRUE(move(block, MemoryKind::dram));
  EXPECT_EQ(used(MemoryKind::hbm), 0u);
  EXPECT_EQ(used(MemoryKind::dram), k_block_bytes);
  EXPECT_TRUE(move(block, MemoryKind::hbm));
  EXPECT_EQ(used(MemoryKind::dram), 0u);
  EXPECT_TRUE(placer_->release(block));
  EXPECT_EQ(used(MemoryKind::hbm), 0u);
}

TEST_F(MovesTest, PagesTouchedAfterTheMoveAreCountedWhereTheyCome) {
  void* block = in_dram(false, k_block_bytes / 2);
  EXPECT_TRUE(move(block, MemoryKind::hbm));
  std::memset(block, 2, k_block_bytes);
  EXPECT_GE(lies_on(block, 0), k_block_bytes / 2 - 2 * k_mib);
  expect_sound();
  EXPECT_TRUE(placer_->release(block));
  EXPECT_EQ(used(MemoryKind::dram) - placer_->cached_bytes(MemoryKind::dram), 0u);
}

// Few pages are there, and none of them moves.
TEST_F(MovesTest, ABlockOfWhichNothingArrivesIsNotMoved) {
  void* block = in_dram(false, k_mib / 2);
  stay(100);
  EXPECT_FALSE(move(block, MemoryKind::hbm));
  EXPECT_EQ(used(MemoryKind::hbm), 0u);
  EXPECT_TRUE(placer_->release(block));
}

// The first node of the tier takes the first 40 %.
int first_node_is_full(std::uintptr_t page, int, int to) {
  return to == 1 && page - block_begin >= k_block_bytes / 10 * 4 ? -ENOMEM : 0;
}
// And the second one the rest, no more.
int both_are_full(std::uintptr_t page, int from, int to) {
  if (to == 2 && page - block_begin < k_block_bytes / 10 * 4) return -ENOMEM;
  return first_node_is_full(page, from, to);
}

TEST_F(MovesTest, ATierOfSeveralNodesIsFilledNodeByNode) {
  for (const auto verdict : {first_node_is_full, both_are_full}) {
    two_hbm_ = true;
    use(1024 * k_mib);
    void* block = in_dram();
    made_up_nodes::verdict = verdict;
    EXPECT_TRUE(move(block, MemoryKind::hbm));
    EXPECT_EQ(lies_on(block, 1) + lies_on(block, 2), k_block_bytes);
    EXPECT_GT(lies_on(block, 1), 0u) << "what was there was moved on";
    EXPECT_EQ(used(MemoryKind::dram), 0u);
    expect_sound();
    EXPECT_TRUE(placer_->release(block));
    made_up_nodes::verdict = nullptr;
  }
}

TEST_F(MovesTest, APartThatCannotComeBackIsCounted) {
  void* block = in_dram();
  stay(90); // one MiB arrives, of eight
  one_way = true;
  EXPECT_EQ(placer_->place_part(block, 0, 8 * k_mib, 0), k_mib);
  EXPECT_EQ(used(MemoryKind::hbm), k_mib);
  expect_sound();
  EXPECT_TRUE(placer_->release(block));
  EXPECT_EQ(used(MemoryKind::hbm), 0u);

  void* other = in_dram();
  made_up_nodes::verdict = [](std::uintptr_t page, int from, int) {
    return page < block_begin + k_mib || from == 1 ? -EBUSY : 0;
  };
  EXPECT_EQ(placer_->fill_front(other, 0), 0u) << "what arrived lies behind a hole";
  EXPECT_EQ(lies_on(other, 1), 9 * k_mib);
  EXPECT_EQ(used(MemoryKind::hbm), 9 * k_mib);
  expect_sound();
  EXPECT_TRUE(placer_->release(other));
  EXPECT_EQ(used(MemoryKind::hbm), 0u);
}

// ---- Moves and frees at once.

std::binary_semaphore reached{0}, go_on{0};
std::atomic<int> pauses{0}; // moves of pages that wait in the middle

int pause_once(std::uintptr_t, int, int) {
  if (pauses.exchange(0) != 0) {
    reached.release();
    EXPECT_TRUE(go_on.try_acquire_for(std::chrono::seconds(20))) << "who frees waits for the move";
  }
  return 0;
}

TEST_F(MovesTest, AFreeDoesNotWaitForAMove) {
  void* block = in_dram();
  made_up_nodes::verdict = pause_once;
  pauses = 1;
  bool moved = false;
  std::thread mover([&] { moved = move(block, MemoryKind::hbm); });
  reached.acquire();
  EXPECT_TRUE(placer_->release(block));
  EXPECT_FALSE(placer_->release(block)) << "a second time";
  BlockInfo info;
  EXPECT_FALSE(placer_->find(block, true, info));
  expect_sound();
  go_on.release();
  mover.join();
  EXPECT_EQ(used(MemoryKind::hbm), 0u);
  EXPECT_EQ(used(MemoryKind::dram), placer_->cached_bytes(MemoryKind::dram));
}

TEST_F(MovesTest, AChildForkedInTheMiddleOfAMoveCountsAsThePagesLie) {
  void* block = in_dram();
  made_up_nodes::verdict = pause_once;
  pauses = 1;
  std::thread mover([&] { move(block, MemoryKind::hbm); });
  reached.acquire();
  placer_->lock_all();
  const pid_t child = ::fork();
  if (child == 0) {
    placer_->forget_other_threads();
    placer_->unlock_all();
    std::string why_not;
    bool good = placer_->is_sound(why_not, true) && used(MemoryKind::dram) == k_block_bytes &&
                used(MemoryKind::hbm) == lies_on(block, 1);
    good = good && move(block, MemoryKind::hbm) && placer_->release(block);
    good = good && used(MemoryKind::hbm) == 0 && placer_->is_sound(why_not, true);
    ::_exit(good ? 0 : 1);
  }
  placer_->unlock_all();
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  go_on.release();
  mover.join();
  EXPECT_EQ(used(MemoryKind::hbm), k_block_bytes);
  EXPECT_TRUE(placer_->release(block));
}

// ---- Memory of the program's.

TEST_F(MovesTest, ARangePlacedAnewStaysCountedWhereItsPagesStay) {
  void* range =
      ::mmap(nullptr, k_block_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(range, MAP_FAILED);
  std::memset(range, 1, k_block_bytes);
  block_begin = reinterpret_cast<std::uintptr_t>(range);
  PlacedRanges ranges;
  std::uint64_t missing = 0;
  const auto place = [&](std::size_t tier, std::size_t bytes) {
    return ranges.place(*placer_, block_begin, bytes, tier, false, 0, missing);
  };
  EXPECT_EQ(place(0, k_block_bytes), RangeResult::placed);
  EXPECT_EQ(used(MemoryKind::hbm), k_block_bytes);
  made_up_nodes::verdict = [](std::uintptr_t page, int from, int to) {
    return from == 1 && to == 0 && page < block_begin + k_mib ? -EBUSY : 0;
  };
  EXPECT_EQ(place(1, k_block_bytes), RangeResult::partly);
  EXPECT_EQ(missing, k_mib);
  EXPECT_EQ(used(MemoryKind::hbm), k_mib);
  EXPECT_EQ(used(MemoryKind::dram), k_block_bytes);
  made_up_nodes::verdict = nullptr;
  EXPECT_EQ(place(1, 2 * k_mib), RangeResult::placed);
  EXPECT_EQ(place(1, k_block_bytes), RangeResult::placed);
  EXPECT_EQ(used(MemoryKind::hbm), 0u);
  EXPECT_EQ(used(MemoryKind::dram), k_block_bytes);
  placer_->ledger().give_back(MemoryKind::dram, k_block_bytes); // the ranges' own
  ::munmap(range, k_block_bytes);
}

TEST_F(MovesTest, PagesThatOthersUseTooAreSaid) {
  void* range = ::mmap(nullptr, k_mib, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(range, MAP_FAILED);
  ::mprotect(range, k_mib, PROT_READ | PROT_WRITE);
  std::memset(range, 1, k_mib);
  ::mprotect(range, k_mib, PROT_READ);
  made_up_nodes::verdict = [](std::uintptr_t page, int, int) {
    return page % (2 * page_size()) == 0 ? -EACCES : 0;
  };
  PlacedRanges ranges;
  std::uint64_t missing = 0;
  EXPECT_EQ(ranges.place(*placer_, reinterpret_cast<std::uintptr_t>(range), k_mib, 0, true, 0,
                         missing),
            RangeResult::shared);
  EXPECT_EQ(missing, k_mib / 2);
  placer_->ledger().give_back(MemoryKind::hbm, k_mib);
  ::munmap(range, k_mib);
}

// ---- Making pages present.

// What the kernel says of memory that may not be written, it says of an advice unknown to it too.
TEST(Populate, MemoryThatMayNotBeWrittenIsNot) {
  const std::size_t bytes = 4 * page_size();
  void* range = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(range, MAP_FAILED);
  EXPECT_FALSE(populate(reinterpret_cast<std::uintptr_t>(range), bytes));
  map_in(reinterpret_cast<std::uintptr_t>(range), bytes);
  ::munmap(range, bytes);
}

// Before Linux 5.14: memory of ours is touched, the program's is left alone.
TEST(Populate, OnOldKernelsOnlyOurOwnMemoryIsTouched) {
  real = &os();
  OsCalls old = *real;
  old.advise = [](void* at, std::size_t bytes, int advice) {
    constexpr int k_populate_read = 22, k_populate_write = 23;
    if (advice == k_populate_read || advice == k_populate_write) return errno = EINVAL, -1;
    return real->advise(at, bytes, advice);
  };
  replace_os_calls(&old);
  const std::size_t bytes = 4 * page_size();
  void* range = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto begin = reinterpret_cast<std::uintptr_t>(range);
  const auto present = [&] {
    PageCensus census;
    count_pages(begin, bytes, census);
    return census.present();
  };
  map_in(begin, bytes);
  EXPECT_EQ(present(), 0u);
  EXPECT_TRUE(populate(begin, bytes));
  EXPECT_EQ(present(), bytes);
  ::mprotect(range, bytes, PROT_READ);
  map_in(begin, bytes);
  ::munmap(range, bytes);
  replace_os_calls(nullptr);
}

} // namespace
