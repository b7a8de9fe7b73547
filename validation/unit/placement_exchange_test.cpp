// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of full kinds that change places, on nodes that are not there (made_up_nodes.hpp): the
// ledger counts every page under the kind that it lies in at every moment, nothing passes a limit
// by more than it may, and what cannot be finished goes back.
#include "dram_and_hbm.hpp"
#include "made_up_nodes.hpp"
#include "placement/mover_threads.hpp"
#include "placement/placer.hpp"
#include "units.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace omptier;

namespace {

constexpr std::size_t k_exchanged_bytes = 24 * k_mib;

Placer* watched = nullptr; // whose ledger is looked at while pages move
std::uint64_t most_in_hbm = 0, most_in_dram = 0;
std::uintptr_t held_begin = 0, held_end = 0; // pages that do not move
std::uintptr_t full_begin = 0, full_end = 0; // pages for which HBM has no room
bool refuses = false;
std::atomic<bool> forks{false};
int child_status = -1;

int watch(std::uintptr_t page, int, int to) {
  if (watched != nullptr) {
    most_in_hbm = std::max(most_in_hbm, watched->ledger().used(MemoryKind::hbm));
    most_in_dram = std::max(most_in_dram, watched->ledger().used(MemoryKind::dram));
  }
  if (page >= held_begin && page < held_end) return -EBUSY;
  if (to == 1 && page >= full_begin && page < full_end) return -ENOMEM;
  if (page % (8 * k_mib) == 0 && forks.exchange(false)) {
    watched->lock_all();
    const pid_t child = ::fork();
    if (child == 0) {
      watched->forget_other_threads();
      watched->unlock_all();
      std::string why_not;
      const bool sound = watched->is_sound(why_not, true);
      if (!sound) std::fprintf(stderr, "in the child: %s\n", why_not.c_str());
      ::syscall(SYS_exit_group, sound ? 0 : 1);
    }
    watched->unlock_all();
    ::waitpid(child, &child_status, 0);
  }
  return 0;
}

long refusing_move(int pid, unsigned long count, void** pages, const int* nodes, int* status,
                   int flags) {
  if (nodes != nullptr && refuses) return errno = EPERM, -1;
  return made_up_nodes::move_pages(pid, count, pages, nodes, status, flags);
}

class ExchangeTest : public ::testing::Test {
protected:
  void SetUp() override {
    before_ = &os();
    calls_ = made_up_nodes::calls();
    calls_.move_pages = refusing_move;
    replace_os_calls(&calls_);
    made_up_nodes::verdict = watch;
    most_in_hbm = most_in_dram = 0;
    held_begin = held_end = 0;
    full_begin = full_end = 0;
    refuses = false;
    child_status = -1;
  }
  void TearDown() override {
    expect_sound();
    watched = nullptr;
    for (unsigned i = 0; i < 2; ++i)
      EXPECT_TRUE(placer_->release(blocks_[i]));
    for (const MemoryKind kind : {MemoryKind::dram, MemoryKind::hbm})
      EXPECT_EQ(used(kind) - placer_->cached_bytes(kind), 0u);
    placer_.reset();
    replace_os_calls(before_);
  }
  // A block in DRAM and one in HBM that fill both, beside so much room.
  void fill(std::size_t in_dram, std::size_t in_hbm, std::size_t spare = 0,
            std::size_t touched = k_exchanged_bytes) {
    CapacityByKind capacity;
    capacity[static_cast<std::size_t>(MemoryKind::dram)] = in_dram + spare;
    capacity[static_cast<std::size_t>(MemoryKind::hbm)] = in_hbm;
    placer_ = std::make_unique<Placer>(dram_and_hbm(1024 * k_mib), capacity);
    const std::size_t bytes[] = {in_dram, in_hbm};
    for (unsigned i = 0; i < 2; ++i) {
      BlockRequest request;
      request.bytes = bytes[i];
      bool fresh = false;
      Refusal why = Refusal::none;
      blocks_[i] = placer_->place(1 - i, request, fresh, why);
      ASSERT_NE(blocks_[i], nullptr) << describe(why);
      bytes_[i] = std::min(touched, bytes[i]);
      std::memset(blocks_[i], 'a' + static_cast<int>(i), bytes_[i]);
    }
    ASSERT_EQ(lies_on(0, 0), bytes_[0]);
    ASSERT_EQ(lies_on(1, 1), bytes_[1]);
    watched = placer_.get();
  }
  void change_places() {
    moves_[0].block = blocks_[0];
    moves_[0].kind = MemoryKind::hbm;
    moves_[1].block = blocks_[1];
    moves_[1].kind = MemoryKind::dram;
    placer_->exchange(moves_);
  }
  std::uint64_t lies_on(unsigned block, unsigned node) {
    PageCensus census;
    count_pages(reinterpret_cast<std::uintptr_t>(blocks_[block]), bytes_[block], census);
    return census.node[node];
  }
  void expect_changed() {
    for (unsigned i = 0; i < 2; ++i) {
      EXPECT_EQ(moves_[i].result, MoveResult::moved) << i;
      EXPECT_EQ(moves_[i].moved, bytes_[i]) << i;
      EXPECT_EQ(lies_on(i, 1 - i), bytes_[i]) << i;
    }
  }
  void expect_as_before() {
    for (unsigned i = 0; i < 2; ++i) {
      EXPECT_NE(moves_[i].result, MoveResult::moved) << i;
      EXPECT_EQ(lies_on(i, i), bytes_[i]) << i;
    }
  }
  std::uint64_t used(MemoryKind kind) { return placer_->ledger().used(kind); }
  void expect_sound() {
    std::string why_not;
    EXPECT_TRUE(placer_->is_sound(why_not, true)) << why_not;
    for (unsigned i = 0; i < 2; ++i)
      for (std::size_t at = 0; at < bytes_[i]; at += page_size())
        ASSERT_EQ(static_cast<char*>(blocks_[i])[at], static_cast<char>('a' + i));
  }
  std::unique_ptr<Placer> placer_;
  void* blocks_[2] = {};
  std::size_t bytes_[2] = {};
  Exchange moves_[2];

private:
  OsCalls calls_{};
  const OsCalls* before_ = nullptr;
};

TEST_F(ExchangeTest, ThroughTheRoomThatThereIs) {
  fill(k_exchanged_bytes, k_exchanged_bytes, 8 * k_mib);
  change_places();
  expect_changed();
  EXPECT_EQ(used(MemoryKind::hbm), k_exchanged_bytes);
  EXPECT_EQ(used(MemoryKind::dram), k_exchanged_bytes);
  EXPECT_LE(most_in_dram, k_exchanged_bytes + 8 * k_mib);
  EXPECT_LE(most_in_hbm, k_exchanged_bytes);
}

TEST_F(ExchangeTest, WithoutRoomAFewMiBAboveALimit) {
  fill(k_exchanged_bytes, k_exchanged_bytes);
  change_places();
  expect_changed();
  EXPECT_EQ(used(MemoryKind::hbm), k_exchanged_bytes);
  EXPECT_EQ(used(MemoryKind::dram), k_exchanged_bytes);
  EXPECT_GT(std::max(most_in_dram, most_in_hbm), k_exchanged_bytes);
  EXPECT_LE(most_in_dram, k_exchanged_bytes + Ledger::k_beyond);
  EXPECT_LE(most_in_hbm, k_exchanged_bytes + Ledger::k_beyond);
  std::string why_not;
  EXPECT_TRUE(placer_->ledger().is_sound(why_not)) << why_not;
}

TEST_F(ExchangeTest, OfDifferentSizes) {
  fill(k_exchanged_bytes, k_exchanged_bytes / 2, 0);
  change_places();
  expect_as_before(); // the larger one has no room there
  EXPECT_EQ(moves_[0].result, MoveResult::no_room);
  EXPECT_EQ(moves_[0].moved + moves_[1].moved, 0u);
}

TEST_F(ExchangeTest, PagesThatDoNotMoveAreCountedWhereTheyAre) {
  fill(k_exchanged_bytes, k_exchanged_bytes);
  held_begin = reinterpret_cast<std::uintptr_t>(blocks_[0]) + 5 * k_mib;
  held_end = held_begin + 16 * page_size();
  change_places();
  // They keep room that the last pages of the other block would need: both go back.
  expect_as_before();
  EXPECT_EQ(used(MemoryKind::hbm), k_exchanged_bytes);
  EXPECT_EQ(used(MemoryKind::dram), k_exchanged_bytes);
}

TEST_F(ExchangeTest, PagesThatDoNotMoveStayCountedWhereThereIsRoom) {
  fill(k_exchanged_bytes, k_exchanged_bytes, 2 * k_mib);
  held_begin = reinterpret_cast<std::uintptr_t>(blocks_[0]) + 5 * k_mib;
  held_end = held_begin + 16 * page_size();
  change_places();
  EXPECT_EQ(moves_[0].result, MoveResult::moved);
  EXPECT_EQ(moves_[1].result, MoveResult::moved);
  EXPECT_EQ(lies_on(0, 0), 16 * page_size());
  EXPECT_EQ(used(MemoryKind::hbm), k_exchanged_bytes);
  EXPECT_EQ(used(MemoryKind::dram), k_exchanged_bytes + 16 * page_size());
}

TEST_F(ExchangeTest, ABlockWhosePagesDoNotMoveAtAll) {
  fill(k_exchanged_bytes, k_exchanged_bytes);
  held_begin = reinterpret_cast<std::uintptr_t>(blocks_[1]);
  held_end = held_begin + k_exchanged_bytes;
  change_places();
  expect_as_before();
  EXPECT_EQ(moves_[1].result, MoveResult::stays);
  EXPECT_EQ(used(MemoryKind::hbm), k_exchanged_bytes);
  EXPECT_EQ(used(MemoryKind::dram), k_exchanged_bytes);
}

TEST_F(ExchangeTest, TheNodeIsFullInTheMiddle) {
  fill(k_exchanged_bytes, k_exchanged_bytes);
  full_begin = reinterpret_cast<std::uintptr_t>(blocks_[0]) + 9 * k_mib;
  full_end = full_begin + k_exchanged_bytes;
  change_places();
  expect_as_before();
  EXPECT_EQ(used(MemoryKind::hbm), k_exchanged_bytes);
  EXPECT_EQ(used(MemoryKind::dram), k_exchanged_bytes);
}

TEST_F(ExchangeTest, ARefusingKernelChangesNothing) {
  fill(k_exchanged_bytes, k_exchanged_bytes);
  refuses = true;
  change_places();
  expect_as_before();
  EXPECT_EQ(moves_[0].result, MoveResult::refused);
  EXPECT_EQ(used(MemoryKind::hbm), k_exchanged_bytes);
  EXPECT_EQ(used(MemoryKind::dram), k_exchanged_bytes);
}

TEST_F(ExchangeTest, UntouchedPagesNeedRoomAtHome) {
  fill(k_exchanged_bytes, k_exchanged_bytes, 0, k_exchanged_bytes / 2);
  change_places();
  expect_as_before();
  EXPECT_EQ(moves_[0].result, MoveResult::no_room);
}

TEST_F(ExchangeTest, AChildForkedInTheMiddleCountsAsThePagesLie) {
  fill(k_exchanged_bytes, k_exchanged_bytes);
  forks = true;
  change_places();
  EXPECT_EQ(child_status, 0);
  expect_changed();
}

} // namespace
