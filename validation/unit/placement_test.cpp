// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ledger, ranges, extents, heap and placer on this machine's own node: what does not need several
// kinds of memory. (What does is in validation/virtual/.)
#include "placement/placer.hpp"
#include "placement/strategy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

using namespace omptier;

namespace {

Platform this_machine() {
  auto platform = discover_platform({});
  EXPECT_TRUE(platform) << platform.error();
  return *platform;
}

CapacityByKind everything_limited(std::uint64_t bytes) {
  CapacityByKind capacity;
  for (auto& entry : capacity)
    entry = bytes;
  return capacity;
}

BlockRequest request(std::size_t bytes, bool required = true, std::size_t alignment = 16) {
  BlockRequest r;
  r.bytes = bytes;
  r.required = required;
  r.alignment = alignment;
  return r;
}

class PlacerTest : public ::testing::Test {
protected:
  void use(const CapacityByKind& capacity = {}, std::uint64_t decay = k_usual_decay) {
    placer = std::make_unique<Placer>(this_machine(), capacity, decay);
    ASSERT_GE(placer->tier_count(), 1u);
  }
  void* place(const BlockRequest& r) { return placer->place(0, r, fresh, why); }
  void expect_sound() {
    std::string why_not;
    EXPECT_TRUE(placer->is_sound(why_not)) << why_not;
  }
  void TearDown() override {
    if (placer) expect_sound();
  }
  std::unique_ptr<Placer> placer;
  bool fresh = false;
  Refusal why = Refusal::none;
};

TEST(LedgerTest, GrantsUpToTheLimitAndNeverBeyond) {
  CapacityByKind capacity;
  capacity[1] = 1000; // hbm
  Ledger ledger(capacity);
  EXPECT_TRUE(ledger.reserve(MemoryKind::hbm, 600));
  EXPECT_FALSE(ledger.reserve(MemoryKind::hbm, 401));
  EXPECT_TRUE(ledger.reserve(MemoryKind::hbm, 400));
  EXPECT_EQ(ledger.room(MemoryKind::hbm), 0u);
  EXPECT_EQ(ledger.refusals(MemoryKind::hbm), 1u);
  ledger.give_back(MemoryKind::hbm, 1000);
  EXPECT_EQ(ledger.used(MemoryKind::hbm), 0u);
  EXPECT_EQ(ledger.peak(MemoryKind::hbm), 1000u);
  EXPECT_TRUE(ledger.reserve(MemoryKind::dram, std::uint64_t{1} << 60)); // no limit of ours
  EXPECT_FALSE(ledger.reserve(MemoryKind::dram, ~std::uint64_t{0}));     // would overflow
}

// What is taken besides, where there is room: the rest of a huge page, or of one that is opened.
TEST(LedgerTest, OnlyWhatWasAskedForIsRefused) {
  for (const std::size_t bytes : {std::size_t{270'336}, std::size_t{1948} << 10}) {
    const std::size_t blocks = bytes < (1 << 20) ? 125 : 1; // so many that the next are opened
    CapacityByKind capacity;
    capacity[static_cast<std::size_t>(MemoryKind::dram)] = blocks * bytes;
    Ledger ledger(capacity);
    ReservedRanges ranges;
    ExtentSpace space(ranges, ledger, MemoryKind::dram, {});
    bool fresh = false;
    for (std::size_t i = 0; i < blocks; ++i)
      ASSERT_NE(space.take(bytes, bytes, 16, ExtentUse::block, fresh), nullptr) << i;
    EXPECT_EQ(ledger.refusals(MemoryKind::dram), 0u) << bytes;
    EXPECT_EQ(space.take(bytes, bytes, 16, ExtentUse::block, fresh), nullptr);
    EXPECT_EQ(ledger.refusals(MemoryKind::dram), 1u) << bytes;
  }
}

TEST(RangesTest, TheirGrowthIsToldBeforeBlocksLieThere) {
  static int grown = 0;
  ReservedRanges ranges;
  ranges.when_grown([] { ++grown; });
  ASSERT_NE(ranges.take(k_largest_range, nullptr).bytes, 0u);
  EXPECT_EQ(grown, 0);
  ASSERT_NE(ranges.take(1, nullptr).bytes, 0u);
  EXPECT_EQ(grown, 1);
}

TEST(LedgerTest, ThreadsCannotPassTheLimitTogether) {
  Ledger ledger(everything_limited(1000));
  std::atomic<int> granted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i)
        granted += ledger.reserve(MemoryKind::nvm, 1);
    });
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(granted, 1000);
}

TEST(StrategyTest, Texts) {
  EXPECT_EQ(parse_strategy("")->mode, Strategy::Mode::none);
  EXPECT_EQ(parse_strategy("first-come")->mode, Strategy::Mode::first_come);
  EXPECT_EQ(parse_strategy("only-nvm")->kind, MemoryKind::nvm);
  EXPECT_FALSE(parse_strategy("only-gold"));
  EXPECT_FALSE(parse_strategy("fastest"));
}

TEST(HeapTest, ClassesHoldSizesAndAlignments) {
  for (std::size_t bytes = 1; bytes < k_large_block; bytes += 1 + bytes / 7)
    for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
      const unsigned c = class_of(bytes, alignment);
      if (c == k_no_class) continue;
      EXPECT_GE(k_class_bytes[c], bytes);
      EXPECT_EQ(k_class_bytes[c] % alignment, 0u);
    }
  EXPECT_EQ(k_class_bytes[class_of(1, 1)], 16u);
  EXPECT_EQ(k_class_bytes[class_of(129, 1)], 160u);
  EXPECT_EQ(class_of(64, 131072), k_no_class);
  // Never more than a quarter lost beyond the smallest classes.
  for (std::size_t bytes = 129; bytes < k_large_block; ++bytes)
    ASSERT_LE(k_class_bytes[class_of(bytes, 1)], bytes + bytes / 4 + 1) << bytes;
}

TEST_F(PlacerTest, RequiredBlockIsPresentAndOnTheNode) {
  use();
  const std::size_t bytes = 3 << 20;
  char* block = static_cast<char*>(place(request(bytes)));
  ASSERT_NE(block, nullptr) << describe(why);
  EXPECT_TRUE(placer->holds(block));
  PageCensus census;
  ASSERT_TRUE(count_pages(reinterpret_cast<std::uintptr_t>(block), bytes, census));
  EXPECT_EQ(census.on(placer->nodes_of_tier(0)), bytes);
  EXPECT_TRUE(placer->release(block));
  EXPECT_FALSE(placer->release(block)) << "freed twice";
}

TEST_F(PlacerTest, PreferredBlockKeepsFirstTouch) {
  use();
  const std::size_t bytes = 5 << 20;
  char* block = static_cast<char*>(place(request(bytes, false)));
  ASSERT_NE(block, nullptr);
  PageCensus census;
  ASSERT_TRUE(count_pages(reinterpret_cast<std::uintptr_t>(block), bytes, census));
  EXPECT_EQ(census.untouched, bytes);
  EXPECT_TRUE(fresh);
  std::memset(block, 1, bytes);
  EXPECT_TRUE(placer->release(block));
}

TEST_F(PlacerTest, LedgerCountsWholePagesAndGetsThemBack) {
  use();
  const MemoryKind kind = placer->kind_of_tier(0);
  void* block = place(request((1 << 20) + 1));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(placer->ledger().used(kind), (1u << 20) + page_size());
  placer->release(block);
  EXPECT_EQ(placer->ledger().used(kind), placer->cached_bytes(kind));
}

TEST_F(PlacerTest, CapacityIsHonoured) {
  use(everything_limited(8 << 20));
  void* first = place(request(5 << 20));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(place(request(4 << 20)), nullptr);
  EXPECT_EQ(why, Refusal::capacity);
  void* second = place(request(3 << 20));
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(place(request(64)), nullptr) << "small blocks count too";
  // Freed blocks go to the cache, which must not stand in the way of other sizes.
  placer->release(first);
  placer->release(second);
  void* all = place(request(8 << 20));
  EXPECT_NE(all, nullptr) << describe(why);
  placer->release(all);
}

TEST_F(PlacerTest, CapacityZeroGivesNothing) {
  use(everything_limited(0));
  EXPECT_EQ(place(request(1 << 20)), nullptr);
  EXPECT_EQ(place(request(16)), nullptr);
  EXPECT_EQ(place(request(1 << 20, false)), nullptr);
}

TEST_F(PlacerTest, ReuseIsMadeFromTheCache) {
  use();
  void* block = place(request(16 << 20));
  ASSERT_NE(block, nullptr);
  std::memset(block, 7, 16 << 20);
  placer->release(block);
  void* again = place(request(16 << 20));
  EXPECT_EQ(again, block);
  EXPECT_FALSE(fresh);
  placer->release(again);
}

TEST_F(PlacerTest, Alignment) {
  use();
  for (std::size_t alignment = 16; alignment <= (std::size_t{1} << 30); alignment *= 4)
    for (const std::size_t bytes : {std::size_t{24}, std::size_t{5000}, std::size_t{300000}}) {
      void* block = place(request(bytes, false, alignment));
      ASSERT_NE(block, nullptr) << bytes << " at " << alignment;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u);
      std::memset(block, 1, bytes);
      EXPECT_TRUE(placer->release(block));
    }
}

TEST_F(PlacerTest, AbsurdSizesAreRefused) {
  use();
  EXPECT_EQ(place(request(~std::size_t{0} - 100)), nullptr);
  EXPECT_EQ(place(request(std::size_t{1} << 50)), nullptr);
  EXPECT_EQ(place(request(std::size_t{1} << 45)), nullptr);
  EXPECT_EQ(place(request(1 << 20, false, std::size_t{1} << 50)), nullptr);
}

TEST_F(PlacerTest, FindTellsInnerAddresses) {
  use();
  char* large = static_cast<char*>(place(request(3000000)));
  char* small = static_cast<char*>(place(request(100)));
  ASSERT_TRUE(large != nullptr && small != nullptr);
  BlockInfo info;
  ASSERT_TRUE(placer->find(large + 2999999, false, info));
  EXPECT_EQ(info.begin, reinterpret_cast<std::uintptr_t>(large));
  EXPECT_EQ(info.bytes, 3000000u);
  EXPECT_FALSE(placer->find(large + 1, true, info));
  EXPECT_FALSE(placer->find(large + 3500000, false, info)) << "behind the block, in its last unit";
  ASSERT_TRUE(placer->find(small + 99, false, info));
  EXPECT_EQ(info.begin, reinterpret_cast<std::uintptr_t>(small));
  EXPECT_EQ(info.bytes, 100u);
  int local = 0;
  EXPECT_FALSE(placer->holds(&local));
  EXPECT_FALSE(placer->release(small + 8)) << "not the begin of a block";
  placer->release(large);
  placer->release(small);
  EXPECT_FALSE(placer->find(large, false, info));
}

TEST_F(PlacerTest, EveryLiveBlockIsListedOnce) {
  use();
  std::vector<void*> blocks;
  for (int i = 0; i < 3000; ++i)
    blocks.push_back(place(request(64 + static_cast<std::size_t>(i) % 2000, false)));
  for (int i = 0; i < 10; ++i)
    blocks.push_back(place(request(1 << 20, false)));
  for (std::size_t i = 0; i < blocks.size(); i += 3)
    placer->release(blocks[i]), blocks[i] = nullptr;
  std::vector<std::uintptr_t> listed, live;
  placer->for_each_block([&](const BlockInfo& info) { listed.push_back(info.begin); });
  for (void* block : blocks)
    if (block != nullptr) live.push_back(reinterpret_cast<std::uintptr_t>(block));
  std::sort(listed.begin(), listed.end());
  std::sort(live.begin(), live.end());
  EXPECT_EQ(listed, live);
  for (const std::uintptr_t block : live)
    placer->release(reinterpret_cast<void*>(block));
}

TEST_F(PlacerTest, EmptyHeapsGiveTheirMemoryBack) {
  use({}, 0);
  std::vector<void*> blocks;
  for (int i = 0; i < 20000; ++i)
    blocks.push_back(place(request(1000, false)));
  const std::uint64_t full = placer->ledger().used(placer->kind_of_tier(0));
  EXPECT_GE(full, 20000000u);
  EXPECT_LE(full, 32000000u);
  for (void* block : blocks)
    ASSERT_TRUE(placer->release(block));
  EXPECT_LE(placer->ledger().used(placer->kind_of_tier(0)), k_chunk_bytes);
}

// Mixed sizes from several threads, each block filled with its own number and checked before it is
// freed, half of them by another thread.
TEST_F(PlacerTest, RandomisedStressKeepsEveryByte) {
  use(everything_limited(16 << 20)); // tight: refusals are part of it
  constexpr int k_threads = 4;
  struct Slot {
    std::atomic<unsigned char*> block{nullptr};
    std::size_t bytes = 0;
    unsigned char fill = 0;
    std::mutex lock;
  };
  std::vector<Slot> slots(400);
  std::atomic<int> wrong{0}, refused{0}, placed{0};
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int step = 0; step < 15000; ++step) {
      Slot& slot = slots[random() % slots.size()];
      const std::lock_guard guard(slot.lock);
      if (unsigned char* block = slot.block) {
        for (std::size_t at = 0; at < slot.bytes; at += 1 + slot.bytes / 64)
          wrong += block[at] != slot.fill;
        wrong += block[slot.bytes - 1] != slot.fill;
        wrong += !placer->release(block);
        slot.block = nullptr;
        continue;
      }
      const unsigned shape = random() % 100;
      const std::size_t bytes = 1 + (shape < 70   ? random() % 2000
                                     : shape < 95 ? random() % 200000
                                                  : random() % 3000000);
      bool is_fresh = false;
      Refusal refusal = Refusal::none;
      auto* block = static_cast<unsigned char*>(
          placer->place(0, request(bytes, random() % 4 == 0, std::size_t{16} << random() % 4),
                        is_fresh, refusal));
      if (block == nullptr) {
        ++refused;
        continue;
      }
      if (is_fresh && bytes >= k_large_block)
        wrong += block[0] != 0 || block[bytes / 2] != 0 || block[bytes - 1] != 0;
      slot.fill = static_cast<unsigned char>(random() | 1);
      std::memset(block, slot.fill, bytes);
      slot.bytes = bytes;
      slot.block = block;
      ++placed;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < k_threads; ++t)
    threads.emplace_back(work, 1234 + t);
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(placed, 10000);
  EXPECT_GT(refused, 0) << "the capacity never came to be tight";
  expect_sound();
  for (Slot& slot : slots)
    if (slot.block != nullptr) {
      EXPECT_TRUE(placer->release(slot.block));
    }
}

} // namespace
