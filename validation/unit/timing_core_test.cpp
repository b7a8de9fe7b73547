// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time model's core: which misses overlap, by the addresses of real machine code.
#include "machine/timing/core.h"
#include "machine/timing/known_blocks.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <vector>

namespace {

constexpr double k_latency = 100;

using Code = std::vector<std::vector<std::uint8_t>>;

const known_block* block_of(const Code& code) {
  static known_blocks* const blocks = known_blocks_create();
  static std::uint64_t address = 0x1000;
  std::vector<std::uint8_t> bytes;
  std::vector<std::size_t> ends;
  for (const auto& instruction : code) {
    bytes.insert(bytes.end(), instruction.begin(), instruction.end());
    ends.push_back(bytes.size());
  }
  return known_blocks_find(blocks, address += 0x1000, bytes.data(), ends.data(), ends.size());
}

const std::vector<std::uint8_t> k_load_rax_rax{0x48, 0x8b, 0x00};        // mov rax, [rax]
const std::vector<std::uint8_t> k_load_rax_rdi{0x48, 0x8b, 0x07};        // mov rax, [rdi]
const std::vector<std::uint8_t> k_load_rcx_rsi_rax{0x48, 0x8b, 0x0c, 0xc6}; // mov rcx, [rsi+rax*8]
const std::vector<std::uint8_t> k_add_rdi{0x48, 0x83, 0xc7, 0x08};       // add rdi, 8
const std::vector<std::uint8_t> k_clear_eax{0x31, 0xc0};                 // xor eax, eax
const std::vector<std::uint8_t> k_copy_rax_rcx{0x48, 0x89, 0xc8};        // mov rax, rcx
const std::vector<std::uint8_t> k_push_rax{0x50};
const std::vector<std::uint8_t> k_test_rax{0x48, 0x85, 0xc0}; // test rax, rax
const std::vector<std::uint8_t> k_jump{0x74, 0x10};           // je
const std::vector<std::uint8_t> k_jump_on{0xeb, 0x10};        // jmp
const std::vector<std::uint8_t> k_nop{0x90};
const std::vector<std::uint8_t> k_load_rcx_rax_8{0x48, 0x8b, 0x48, 0x08};   // mov rcx, [rax+8]
const std::vector<std::uint8_t> k_load_rax_stack{0x48, 0x8b, 0x04, 0x24};   // mov rax, [rsp]
const std::vector<std::uint8_t> k_store_rax_stack{0x48, 0x89, 0x04, 0x24};  // mov [rsp], rax
const std::vector<std::uint8_t> k_movnti_rdi{0x48, 0x0f, 0xc3, 0x07};       // movnti [rdi], rax
const std::vector<std::uint8_t> k_xadd_rdi{0xf0, 0x48, 0x0f, 0xc1, 0x07};   // lock xadd [rdi], rax
const std::vector<std::uint8_t> k_store_rdx_rax{0x48, 0x89, 0x10};          // mov [rax], rdx
const std::vector<std::uint8_t> k_move_if_zero{0x48, 0x0f, 0x44, 0xc1};     // cmovz rax, rcx
constexpr std::uint64_t k_stack = 0x7ffe00000000;

class TimingCore : public testing::Test {
protected:
  void SetUp() override {
    configuration_.instruction = 0.25;
    configuration_.window = 200;
    configuration_.outstanding = 10;
    configuration_.prefetched = 16;
    configuration_.stores = 16;
    core_create(&core_, &configuration_);
  }
  void load_misses(const block_access& access, std::uint64_t address) {
    const double begin = core_load(&core_, &access);
    core_load_ends(&core_, &access, address, begin, begin + k_latency);
  }
  // Nanoseconds of one round, of many; the loads at these places of the block miss. Each round
  // accesses another line, the same with all instructions but those of the stack.
  double time_of(const Code& code, const std::vector<std::size_t>& misses) {
    const known_block* block = block_of(code);
    constexpr int k_rounds = 1000;
    for (int i = 0; i < k_rounds; ++i) {
      core_block(&core_, &block->block);
      for (std::size_t at = 0; at < code.size(); ++at) {
        const block_access& access = block->accesses[at];
        const bool on_stack = code[at] == k_load_rax_stack || code[at] == k_store_rax_stack;
        const std::uint64_t address = on_stack ? k_stack : std::uint64_t(i + 1) << 12 | at % 8 << 3;
        if (std::ranges::find(misses, at) != misses.end())
          load_misses(access, address);
        else if (access.load >= 0)
          core_hit(&core_, &access, address);
        if (code[at] == k_store_rax_stack) core_stored(&core_, &access, address);
      }
    }
    core_drain(&core_);
    const double taken = core_.now / k_rounds;
    core_clear(&core_);
    return taken;
  }
  configuration configuration_{};
  core core_{};
};

TEST_F(TimingCore, InstructionsTakeTheirTime) {
  EXPECT_NEAR(time_of({k_nop, k_nop, k_add_rdi, k_nop}, {}), 1, 1e-6);
}

TEST_F(TimingCore, AChaseWaitsForEachMiss) {
  EXPECT_NEAR(time_of({k_load_rax_rax}, {0}), k_latency, 1);
  // Also from block to block, and through another register.
  EXPECT_NEAR(time_of({k_load_rcx_rsi_rax, k_nop, k_copy_rax_rcx}, {0}), k_latency, 1);
}

TEST_F(TimingCore, IndependentMissesOverlapUpToThoseOutstanding) {
  EXPECT_NEAR(time_of({k_load_rax_rdi, k_add_rdi}, {0}), k_latency / 10, 0.5);
  configuration_.outstanding = 4;
  core_create(&core_, &configuration_);
  EXPECT_NEAR(time_of({k_load_rax_rdi, k_add_rdi}, {0}), k_latency / 4, 0.5);
}

TEST_F(TimingCore, OnlyMissesWithinAWindowOverlap) {
  const known_block* block = block_of({k_load_rax_rdi});
  const auto each = [&](int blocks) { // of 20 instructions, between two misses
    core_clear(&core_);
    for (int i = 0; i < 1000; ++i) {
      core_block(&core_, &block->block);
      load_misses(block->accesses[0], std::uint64_t(i) << 12);
      for (int more = 0; more < blocks; ++more)
        core_instructions(&core_, 20);
    }
    core_drain(&core_);
    return core_.now / 1000;
  };
  EXPECT_NEAR(each(5), k_latency / 2, 1); // the third finds the window full
  // Half of 400 instructions pass while it waits, and half afterwards.
  EXPECT_NEAR(each(20), k_latency + 200 * 0.25, 6);
}

TEST_F(TimingCore, AGatherWaitsForItsIndexOnly) {
  // The index hits: gathers overlap. The index misses too: so do both.
  EXPECT_NEAR(time_of({k_load_rax_rdi, k_load_rcx_rsi_rax, k_add_rdi}, {1}), k_latency / 10, 0.5);
  EXPECT_NEAR(time_of({k_load_rax_rdi, k_load_rcx_rsi_rax, k_add_rdi}, {0, 1}), 2 * k_latency / 10,
              2);
}

TEST_F(TimingCore, AHitWaitsForItsLine) {
  // A list whose nodes are read before their links.
  EXPECT_NEAR(time_of({k_load_rcx_rax_8, k_load_rax_rax}, {0}), k_latency, 2);
}

TEST_F(TimingCore, AValueKeepsItsTimeInMemory) {
  EXPECT_NEAR(time_of({k_load_rax_stack, k_load_rax_rax, k_store_rax_stack}, {1}), k_latency, 2);
}

// QEMU reports a load of 16 bytes as two of 8.
TEST_F(TimingCore, AnInstructionThatLoadsTwiceWaitsForBoth) {
  const known_block* block = block_of({k_load_rax_rax});
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    core_block(&core_, &block->block);
    load_misses(block->accesses[0], i << 12);
    core_hit(&core_, &block->accesses[0], i << 12 | 8);
  }
  core_drain(&core_);
  EXPECT_NEAR(core_.now / 1000, k_latency, 1);
}

TEST_F(TimingCore, StoresPastTheCachesAreKnown) {
  EXPECT_TRUE(block_of({k_movnti_rdi})->accesses[0].past_caches);
  EXPECT_FALSE(block_of({k_store_rax_stack})->accesses[0].past_caches);
}

TEST_F(TimingCore, LockedInstructionsAreWaitedFor) {
  EXPECT_TRUE(block_of({k_xadd_rdi})->accesses[0].locked);
  EXPECT_FALSE(block_of({k_store_rax_stack})->accesses[0].locked);
  EXPECT_NEAR(time_of({k_xadd_rdi, k_add_rdi}, {0}), k_latency, 1);
}

TEST_F(TimingCore, AllLoadsOfALongBlockAreFollowed) {
  const Code chase(64, k_load_rax_rax);
  std::vector<std::size_t> all(64);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_NEAR(time_of(chase, all), 64 * k_latency, 64);
}

// The same instructions in blocks of 30 and of 240, a miss each 30. The time of a block's
// instructions passes at its begin, so long blocks overlap a little more (and 0.42 if all misses of
// a block lay at one place).
TEST_F(TimingCore, TheWindowCountsInstructionsNotBlocks) {
  configuration_.window = 72;
  core_create(&core_, &configuration_);
  Code small(30, k_nop), large(240, k_nop);
  small[0] = k_load_rax_rdi;
  std::vector<std::size_t> misses;
  for (std::size_t at = 0; at < large.size(); at += 30) {
    large[at] = k_load_rax_rdi;
    misses.push_back(at);
  }
  EXPECT_NEAR(time_of(large, misses) / 8 / time_of(small, {0}), 0.85, 0.15);
}

TEST_F(TimingCore, AStoreBeginsWhenItsAddressIsKnown) {
  const known_block* block = block_of({k_load_rax_rdi, k_store_rdx_rax});
  core_block(&core_, &block->block);
  load_misses(block->accesses[0], 0x1000);
  EXPECT_NEAR(core_store(&core_, &block->accesses[1]), k_latency, 2);
}

TEST_F(TimingCore, AConditionalMoveMayKeepTheOldValue) {
  EXPECT_NEAR(time_of({k_load_rax_rax, k_move_if_zero}, {0}), k_latency, 1);
}

TEST_F(TimingCore, ARegisterThatIsClearedOrPushedIsNoChain) {
  EXPECT_NEAR(time_of({k_load_rax_rax, k_push_rax, k_clear_eax}, {0}), k_latency / 10, 0.5);
}

// A search: the next address does not come from the load, but from where a branch goes.
TEST_F(TimingCore, AWrongBranchWaitsForItsCondition) {
  const known_block* block = block_of({k_load_rax_rdi, k_test_rax, k_jump});
  const known_block* other = block_of({k_add_rdi, k_jump_on});
  const auto each = [&](bool random) {
    core_clear(&core_);
    std::minstd_rand bits(1);
    for (int i = 0; i < 4000; ++i) {
      core_block(&core_, &block->block);
      load_misses(block->accesses[0], std::uint64_t(i) << 12);
      struct block next = other->block;
      next.begin = (random ? (bits() >> 8) % 2 == 0 : i % 2 == 0) ? block->block.end : 0x77;
      core_block(&core_, &next);
      core_.block = nullptr; // `next` ends here
    }
    core_drain(&core_);
    return core_.now / 4000;
  };
  EXPECT_NEAR(each(false), k_latency / 10, 1);
  EXPECT_NEAR(each(true), k_latency / 2, 12);
}

TEST_F(TimingCore, AValueThatHitsComesWithItsAddress) {
  // Every second step of the chain hits.
  EXPECT_NEAR(time_of({k_load_rax_rax, k_load_rax_rax}, {0}), k_latency, 1);
}

TEST_F(TimingCore, StoresWaitWhenTheBufferIsFull) {
  const known_block* block = block_of({k_store_rax_stack});
  for (int i = 0; i < 1000; ++i) {
    const double begin = core_store(&core_, &block->accesses[0]);
    core_store_ends(&core_, begin, begin + k_latency);
  }
  EXPECT_NEAR(core_.now / 1000, k_latency / 16, 0.2);
}

TEST_F(TimingCore, StreamsComeAsFastAsPrefetchersAskForThem) {
  const known_block* block = block_of({k_load_rax_rdi, k_add_rdi});
  const auto stream = [&](int nops) {
    core_clear(&core_);
    for (int i = 0; i < 1000; ++i) {
      core_block(&core_, &block->block);
      core_instructions(&core_, static_cast<std::uint32_t>(nops));
      const double begin = core_prefetch(&core_, k_latency, 0);
      core_prefetch_ends(&core_, &block->accesses[0], std::uint64_t(i) << 6, begin + k_latency);
    }
    core_drain(&core_);
    return core_.now / 1000;
  };
  EXPECT_NEAR(stream(0), k_latency / 16, 0.3);
  EXPECT_NEAR(stream(100), 102 * 0.25, 0.5); // computing hides them
}

// Records of some lines, each found by a pointer in the one before: nobody can ask for a record's
// lines before its address is known.
TEST_F(TimingCore, StreamsBeginWhenTheirAddressIsKnown) {
  const known_block* block = block_of({k_load_rax_rax});
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    core_block(&core_, &block->block);
    const double began = core_address(&core_, &block->accesses[0]);
    const double begin = core_prefetch(&core_, k_latency, began);
    core_prefetch_ends(&core_, &block->accesses[0], i << 12, begin + k_latency);
  }
  core_drain(&core_);
  EXPECT_NEAR(core_.now / 1000, k_latency, 1);
}

TEST(TimingBlocks, AreKnownByTheirCode) {
  known_blocks* blocks = known_blocks_create();
  const std::uint8_t code[] = {0x48, 0x8b, 0x00, 0x90, 0xff};
  const std::size_t ends[] = {3, 4};
  const known_block* first = known_blocks_find(blocks, 0x4000, code, ends, 2);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(known_blocks_find(blocks, 0x4000, code, ends, 2), first);
  EXPECT_NE(known_blocks_find(blocks, 0x8000, code, ends, 2), first);
  EXPECT_NE(known_blocks_find(blocks, 0x4000, code, ends, 1), first);
  EXPECT_EQ(first->block.instructions, 2u);
  EXPECT_EQ(first->accesses[0].pc, 0x4000u);
  EXPECT_EQ(first->accesses[1].pc, 0x4003u);
  EXPECT_EQ(first->accesses[0].load, 0);
  EXPECT_EQ(first->accesses[1].load, -1);
  const std::size_t broken[] = {3, 5}; // "nop, 0xff" is no instruction, and harms nobody
  EXPECT_NE(known_blocks_find(blocks, 0x4000, code, broken, 2), nullptr);
  known_blocks_clear(blocks);
  EXPECT_EQ(known_blocks_find(blocks, 0x4000, code, ends, 2)->accesses[1].pc, 0x4003u);
}

} // namespace
