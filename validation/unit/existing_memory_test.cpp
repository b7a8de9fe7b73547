// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ompx_place_range on blocks of ours, on nodes that are not there (made_up_nodes.hpp): each cause
// has the errno that the header promises.
#include "allocators/existing_memory.hpp"
#include "dram_and_hbm.hpp"
#include "made_up_nodes.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <memory>

using namespace omptier;

namespace {

constexpr std::size_t k_mib = 1 << 20;
constexpr std::size_t k_bytes = 10 * k_mib;

std::uintptr_t block_begin = 0;
bool moves_refused = false;
int asked_of = 0; // process
long (*made_up_move)(int, unsigned long, void**, const int*, int*, int) = nullptr;

long move_pages(int pid, unsigned long count, void** pages, const int* nodes, int* status,
                int flags) {
  asked_of = pid;
  if (nodes != nullptr && moves_refused) return errno = EPERM, -1;
  return made_up_move(0, count, pages, nodes, status, flags); // in this process
}

// DRAM on node 0, HBM on node 1.
class OwnBlocksTest : public ::testing::Test {
protected:
  void SetUp() override {
    before_ = &os();
    calls_ = made_up_nodes::calls();
    made_up_move = calls_.move_pages;
    calls_.move_pages = move_pages;
    replace_os_calls(&calls_);
    moves_refused = false;
    use(1024 * k_mib);
  }
  void TearDown() override {
    std::string why_not;
    EXPECT_TRUE(placer_->is_sound(why_not, true)) << why_not;
    placer_.reset();
    replace_os_calls(before_);
  }
  void use(std::size_t hbm_capacity) {
    placer_ = std::make_unique<Placer>(dram_and_hbm(1024 * k_mib),
                                       only(MemoryKind::hbm, hbm_capacity));
  }
  void* in_dram(bool required = false) {
    void* block = block_in_dram(*placer_, k_bytes, required);
    std::memset(block, 1, k_bytes);
    block_begin = reinterpret_cast<std::uintptr_t>(block);
    return block;
  }
  int to_hbm(void* block, std::size_t bytes = k_bytes) {
    return move_own_block(*placer_, block, bytes, MemoryKind::hbm);
  }
  std::unique_ptr<Placer> placer_;

private:
  OsCalls calls_{};
  const OsCalls* before_ = nullptr;
};

template <int percent> int stay(std::uintptr_t page, int, int to) {
  return to == 1 && page - block_begin >= k_bytes / 100 * (100 - percent) ? -EBUSY : 0;
}

TEST_F(OwnBlocksTest, TheKernelRefuses) {
  void* block = in_dram();
  moves_refused = true;
  EXPECT_EQ(to_hbm(block), EPERM);
  moves_refused = false;
  EXPECT_EQ(to_hbm(block), 0);
  EXPECT_TRUE(placer_->release(block));
}

TEST_F(OwnBlocksTest, SomeOrMostPagesStay) {
  void* block = in_dram();
  made_up_nodes::verdict = stay<60>;
  EXPECT_EQ(to_hbm(block), EAGAIN);
  made_up_nodes::verdict = stay<10>;
  EXPECT_EQ(to_hbm(block), EAGAIN);
  made_up_nodes::verdict = nullptr;
  EXPECT_TRUE(placer_->release(block));
}

TEST_F(OwnBlocksTest, AnotherMovesIt) {
  void* block = in_dram();
  ExtentSpace* space = placer_->ranges().space_of(block);
  Extent* held = space->begin_move(block);
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(to_hbm(block), EAGAIN);
  space->end_move(*held);
  EXPECT_EQ(to_hbm(block), 0);
  EXPECT_TRUE(placer_->release(block));
}

TEST_F(OwnBlocksTest, AnotherProcesssPagesMoveToo) {
  void* block = in_dram();
  NodeSet hbm;
  hbm.add(1);
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  const MoveOutcome outcome = move_to_nodes(begin, k_bytes, {.nodes = hbm, .process = 4711});
  EXPECT_EQ(asked_of, 4711);
  EXPECT_FALSE(outcome.refused);
  EXPECT_EQ(outcome.missing, 0u);
  EXPECT_EQ(outcome.moved, k_bytes);
  const NodeSet dram{1};
  moves_refused = true;
  EXPECT_TRUE(move_to_nodes(begin, k_bytes, {.nodes = dram, .process = 4711}).refused);
  moves_refused = false;
  EXPECT_EQ(move_to_nodes(begin, k_bytes, {.nodes = dram, .process = 4711}).moved,
            k_bytes); // as the placer thinks
  EXPECT_TRUE(placer_->release(block));
}

TEST_F(OwnBlocksTest, NoRoomThere) {
  use(k_bytes - k_mib);
  void* block = in_dram();
  EXPECT_EQ(to_hbm(block), ENOSPC);
  EXPECT_TRUE(placer_->release(block));
}

TEST_F(OwnBlocksTest, BlocksThatMayNotMove) {
  void* block = in_dram(true);
  EXPECT_EQ(to_hbm(block), EINVAL) << "required";
  EXPECT_TRUE(placer_->release(block));
  block = in_dram();
  EXPECT_EQ(to_hbm(block, k_mib), EINVAL) << "a part of it";
  EXPECT_EQ(placer_->place_part(block, 0, 2 * k_mib, 0), 2 * k_mib);
  EXPECT_EQ(to_hbm(block), EINVAL) << "split by a plan";
  EXPECT_TRUE(placer_->release(block));
}

} // namespace
