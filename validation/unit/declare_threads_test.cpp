// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations, commits, updates and moves from many threads at once, driven from std::thread so
// that ThreadSanitizer sees everything (preset tsan; libomp itself is not instrumented). A stand-in
// plays libomp.
#include "allocators/declarations.hpp"
#include "allocators/tier_order.hpp"

#include "../stand_in_runtime.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <thread>
#include <vector>

using namespace omptier;

namespace {

void give(const omptier_hooks& hooks, void* block) {
  if (block == nullptr || hooks.release(block, 0) != 0) return;
  hooks.stock_released(block);
  std::free(block);
}

TEST(DeclareThreads, WhoeverCommitsFindsHisOwnDone) {
  const omptier_hooks* hooks = attach_stand_in_runtime();
  ASSERT_NE(hooks, nullptr);
  std::uintptr_t shared = 0;
  const omptier_trait importance[] = {{5005, 10}};
  ASSERT_EQ(hooks->init_allocator(500, 1, importance, &shared), 1);
  std::vector<std::thread> team;
  for (int t = 0; t < 4; ++t)
    team.emplace_back([=] {
      for (unsigned round = 0; round < 40; ++round) {
        void *small = nullptr, *large = nullptr, *dropped = nullptr, *common = nullptr;
        const TraitPair traits[] = {{5005, round}, {5000, 5103}};
        EXPECT_EQ(declare(&small, 200, 500, traits, nullptr), Result::success);
        EXPECT_EQ(declare(&large, 400000, 500, traits, nullptr), Result::success);
        EXPECT_EQ(declare(&dropped, 400000, 500, traits, nullptr), Result::success);
        const Result withdrawn = withdraw(&dropped); // another's commit may have come first
        Outcome outcome{};
        EXPECT_LE(commit(DecisionOrder::density, outcome), Result::incomplete);
        ASSERT_TRUE(small != nullptr && large != nullptr);
        EXPECT_EQ(dropped == nullptr, withdrawn == Result::success);
        ASSERT_EQ(hooks->allocate(300000, 0, shared, nullptr, &common), 1);
        std::memset(large, t, 400000);
        std::memset(common, t, 300000);
        const TraitPair hotter[] = {{5005, 500 + round}, {5006, 5221}};
        EXPECT_EQ(update_block(large, hotter), Result::success);
        EXPECT_EQ(update_allocator(shared, hotter), Result::success);
        Outcome applied{};
        if (round % 8 == 0) {
          EXPECT_LE(apply(DecisionOrder::density, applied), Result::incomplete);
        }
        EXPECT_EQ(static_cast<char*>(large)[399999], static_cast<char>(t));
        EXPECT_EQ(static_cast<char*>(common)[299999], static_cast<char>(t));
        for (void* block : {small, large, dropped, common})
          give(*hooks, block);
      }
    });
  for (std::thread& thread : team)
    thread.join();
  EXPECT_EQ(hooks->destroy_allocator(shared), 1);
  std::string why_not;
  Placer* placer = runtime().placer_if_ready();
  ASSERT_NE(placer, nullptr);
  EXPECT_TRUE(placer->is_sound(why_not)) << why_not;
  std::size_t left = 0;
  placer->for_each_block([&](const BlockInfo&) { ++left; });
  EXPECT_EQ(left, 0u);
}

// ompx_apply decides on an allocator's blocks while another thread allocates from it: what was
// decided at the commit holds all the while. (The thread sanitizer sees the rest: preset tsan.)
TEST(DeclareThreads, DecidedTierHoldsWhileOthersApply) {
  const omptier_hooks* hooks = attach_stand_in_runtime();
  ASSERT_NE(hooks, nullptr);
  void* block = nullptr;
  ASSERT_EQ(declare(&block, 400000, 500, {}, nullptr), Result::success);
  Outcome outcome{};
  ASSERT_LE(commit(DecisionOrder::density, outcome), Result::incomplete);
  BlockInfo info;
  Placer* placer = runtime().placer_if_ready();
  ASSERT_TRUE(placer != nullptr && placer->find(block, true, info));
  const Allocator* allocator = runtime().allocators.by_number(info.allocator);
  ASSERT_NE(allocator, nullptr);
  const std::uint8_t decided = allocator->decided_tier;
  ASSERT_NE(decided, k_undecided);
  std::atomic<bool> over{false};
  int undecided = 0, asked = 0;
  std::thread other([&] {
    for (; !over.load(); ++asked)
      undecided += tiers_of(*placer, *allocator).front() != decided ||
                   allocator->decided_tier == k_undecided;
  });
  for (int i = 0; i < 300; ++i) {
    Outcome applied{};
    EXPECT_LE(apply(DecisionOrder::density, applied), Result::incomplete);
  }
  over = true;
  other.join();
  EXPECT_EQ(undecided, 0) << "of " << asked;
  give(*hooks, block);
}

// What the block is counted for when its pointer is set: the page that holds the pointer cannot be
// written, and the handler looks before it lets the commit go on.
void* page = nullptr;
int final_blocks = 0, other_blocks = 0;
void look_at_blocks(int) {
  runtime().placer()->for_each_block([](const BlockInfo& info) {
    const Allocator* allocator = runtime().allocators.by_number(info.allocator);
    const bool final = allocator != nullptr && allocator->of_one_block && allocator->blocks == 1;
    ++(final ? final_blocks : other_blocks);
  });
  ::mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

TEST(DeclareThreads, PointerIsSetWhenTheBlockIsFinal) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the sanitizer stores atomically in code of its own and never lets the signal in";
#endif
#endif
  const omptier_hooks* hooks = attach_stand_in_runtime();
  ASSERT_NE(hooks, nullptr);
  page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto** pointer = static_cast<void**>(page);
  ASSERT_EQ(declare(pointer, 200, 500, {}, nullptr), Result::success);
  ASSERT_EQ(::mprotect(page, 4096, PROT_READ), 0);
  struct sigaction look = {}, before = {};
  look.sa_handler = look_at_blocks;
  ASSERT_EQ(::sigaction(SIGSEGV, &look, &before), 0);
  Outcome outcome{};
  EXPECT_LE(commit(DecisionOrder::density, outcome), Result::incomplete);
  ASSERT_EQ(::sigaction(SIGSEGV, &before, nullptr), 0);
  EXPECT_EQ(final_blocks, 1);
  EXPECT_EQ(other_blocks, 0);
  give(*hooks, *pointer);
  ::munmap(page, 4096);
}

// A block may be freed as soon as its pointer is seen: its allocator ends with it then.
TEST(DeclareThreads, WhoeverSeesThePointerMayFreeTheBlock) {
  constexpr unsigned k_rounds = 200, k_each = 12;
  const omptier_hooks* hooks = attach_stand_in_runtime();
  ASSERT_NE(hooks, nullptr);
  void* pointers[k_each] = {};
  std::atomic<unsigned> declared{0}, freed{0};
  unsigned left = 0;
  std::thread other([&] {
    for (unsigned round = 1; round <= k_rounds; ++round) {
      while (declared.load() != round)
        std::this_thread::yield();
      for (void*& pointer : pointers) {
        void* block = nullptr;
        while ((block = std::atomic_ref(pointer).load(std::memory_order_acquire)) == nullptr) {
        }
        BlockInfo info;
        EXPECT_TRUE(runtime().placer()->find(block, true, info));
        const Allocator* allocator = runtime().allocators.by_number(info.allocator);
        ASSERT_NE(allocator, nullptr);
        give(*hooks, block);
        left += allocator->live.load() ? 1 : 0;
      }
      freed.store(round);
    }
  });
  for (unsigned round = 1; round <= k_rounds; ++round) {
    for (void*& pointer : pointers)
      ASSERT_EQ(declare(&pointer, 200, 500, {}, nullptr), Result::success);
    declared.store(round);
    Outcome outcome{};
    EXPECT_LE(commit(DecisionOrder::density, outcome), Result::incomplete);
    while (freed.load() != round)
      std::this_thread::yield();
  }
  other.join();
  EXPECT_EQ(left, 0u) << "allocators of blocks that are gone";
}

} // namespace
