// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small blocks among threads: caches that come and go, frees by others, decay, exhaustion, fork,
// and the invariants after all of it. Contents are checked by a pattern of the block's address.
#include "placement/placer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace omptier;

namespace {

struct Block {
  unsigned char* at = nullptr;
  std::size_t bytes = 0;
};

unsigned char pattern_of(const Block& block) {
  return static_cast<unsigned char>(reinterpret_cast<std::uintptr_t>(block.at) >> 4 ^ block.bytes);
}

bool intact(const Block& block) {
  for (const std::size_t i : {std::size_t{0}, block.bytes / 2, block.bytes - 1})
    if (block.at[i] != pattern_of(block)) return false;
  return true;
}

class HeapTest : public ::testing::Test {
public:
  void use(const CapacityByKind& capacity = {}, std::uint64_t decay = k_usual_decay) {
    auto platform = discover_platform({});
    ASSERT_TRUE(platform) << platform.error();
    placer = std::make_unique<Placer>(*platform, capacity, decay);
  }
  Block get(std::size_t bytes) {
    BlockRequest request;
    request.bytes = bytes;
    request.alignment = 16;
    request.required = true;
    bool fresh = false;
    Refusal why = Refusal::none;
    Block block{static_cast<unsigned char*>(placer->place(0, request, fresh, why)), bytes};
    if (block.at != nullptr) std::memset(block.at, pattern_of(block), bytes);
    return block;
  }
  std::uint64_t used() const { return placer->ledger().used(placer->kind_of_tier(0)); }
  void expect_sound() {
    std::string why_not;
    EXPECT_TRUE(placer->is_sound(why_not)) << why_not;
  }
  std::unique_ptr<Placer> placer;
};

TEST_F(HeapTest, ThreadsComeAndGoAndOthersFree) {
  use();
  std::mutex lock;
  std::vector<Block> handed_over;
  std::atomic<int> spoilt{0};
  for (int round = 0; round < 6; ++round) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
      threads.emplace_back([&, seed = round * 4u + t] {
        std::mt19937 random(seed);
        std::vector<Block> mine;
        for (int i = 0; i < 2000; ++i) {
          mine.push_back(get(1 + random() % (i % 50 == 0 ? 100000 : 600)));
          if (mine.back().at == nullptr) ++spoilt;
          if (i % 3 == 0) {
            const std::lock_guard guard(lock);
            handed_over.push_back(mine.back());
            mine.pop_back();
          } else if (i % 3 == 1) {
            const std::size_t which = random() % mine.size();
            if (!intact(mine[which]) || !placer->release(mine[which].at)) ++spoilt;
            mine[which] = mine.back();
            mine.pop_back();
          }
        }
        for (const Block& block : mine)
          if (!intact(block) || !placer->release(block.at)) ++spoilt;
      });
    for (auto& thread : threads)
      thread.join();
    for (const Block& block : handed_over)
      if (!intact(block) || !placer->release(block.at)) ++spoilt;
    handed_over.clear();
    expect_sound(); // every block is live, free or in a magazine of a living thread
  }
  EXPECT_EQ(spoilt, 0);
  std::size_t live = 0;
  placer->for_each_block([&](const BlockInfo&) { ++live; });
  EXPECT_EQ(live, 0u);
}

// Batches that pass from one thread to another are counted, come back to those who allocate, and go
// home when memory is short.
TEST_F(HeapTest, HandedOverInBatches) {
  use({}, 3'600'000'000'000ul);
  constexpr std::size_t k_count = 3'000;
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < k_count; ++i)
    blocks.push_back(get(64));
  const auto by_address = [](const Block& a, const Block& b) { return a.at < b.at; };
  std::sort(blocks.begin(), blocks.end(), by_address);
  std::thread([&] {
    for (const Block& block : blocks)
      EXPECT_TRUE(intact(block) && placer->release(block.at));
  }).join();
  expect_sound();
  std::size_t again = 0;
  std::vector<Block> taken;
  for (std::size_t i = 0; i < k_count; ++i) {
    taken.push_back(get(64));
    again += std::binary_search(blocks.begin(), blocks.end(), taken.back(), by_address) ? 1 : 0;
  }
  EXPECT_GE(again, k_count - 128); // the others lay in this thread's magazine and in its last batch
  std::sort(taken.begin(), taken.end(), by_address);
  EXPECT_EQ(std::adjacent_find(taken.begin(), taken.end(),
                               [](const Block& a, const Block& b) { return a.at == b.at; }),
            taken.end());
  std::thread([&] {
    for (const Block& block : taken)
      EXPECT_TRUE(placer->release(block.at));
  }).join();
  const std::uint64_t before = used();
  placer->give_back_unused();
  expect_sound();
  EXPECT_LT(used(), before); // no chunk is held by what nobody took
}

TEST_F(HeapTest, SecondAndForeignFreesDoNothing) {
  use();
  const Block a = get(100), b = get(100);
  int local = 0;
  EXPECT_FALSE(placer->release(&local));
  EXPECT_FALSE(placer->release(a.at + 16));
  EXPECT_FALSE(placer->release(a.at + 1));
  EXPECT_TRUE(placer->release(a.at));
  EXPECT_FALSE(placer->release(a.at));
  std::thread([&] { EXPECT_FALSE(placer->release(a.at)); }).join();
  EXPECT_TRUE(intact(b));
  EXPECT_TRUE(placer->release(b.at));
  expect_sound();
}

// What two frees at one instant would leave behind: the block in two places of magazines.
TEST_F(HeapTest, ABlockFreedTwiceAtOneInstantHasOneOwner) {
  use();
  for (const bool handed_back : {false, true}) {
    const Block a = get(100);
    const Span* span = placer->ranges().span_of(a.at);
    ASSERT_NE(span, nullptr);
    const auto begin = reinterpret_cast<std::uintptr_t>(a.at);
    ASSERT_TRUE(span->is_begin(begin));
    ThreadCache* cache = ThreadCache::make_mine();
    ASSERT_NE(cache, nullptr);
    Magazine* magazine = cache->magazine(Heap::of(*span), span->size_class);
    ASSERT_NE(magazine, nullptr);
    ASSERT_TRUE(placer->release(a.at));
    ASSERT_FALSE(magazine->is_full());
    magazine->push({begin, span->record_from(begin)});
    if (handed_back) cache->flush(); // the span takes it once
    std::vector<Block> blocks;
    for (int i = 0; i < 200; ++i)
      blocks.push_back(get(100));
    for (const Block& block : blocks)
      EXPECT_TRUE(block.at != nullptr && intact(block) && placer->release(block.at));
    std::sort(blocks.begin(), blocks.end(),
              [](const Block& x, const Block& y) { return x.at < y.at; });
    for (std::size_t i = 1; i < blocks.size(); ++i)
      EXPECT_NE(blocks[i].at, blocks[i - 1].at);
    expect_sound();
  }
}

// Wherever it points to in a span, for every class.
TEST_F(HeapTest, OnlyBeginsOfBlocksAreFreed) {
  use();
  for (unsigned c = 0; c < k_size_classes; ++c) {
    const Block block = get(std::min<std::size_t>(k_class_bytes[c], k_large_block - 1));
    ASSERT_NE(block.at, nullptr);
    const Span* span = placer->ranges().span_of(block.at);
    ASSERT_NE(span, nullptr);
    const std::size_t bytes = span->granules * k_granule;
    const std::size_t step = c < 16 ? 1 : 16;
    for (std::size_t offset = 0; offset < bytes; offset += step) {
      const std::uintptr_t at = span->begin + offset;
      ASSERT_EQ(span->is_begin(at), offset % span->block_bytes == 0) << c << " " << offset;
      ASSERT_EQ(span->index_of(at), offset / span->block_bytes) << c << " " << offset;
    }
    // What is left behind the last block.
    if (span->blocks * std::size_t{span->block_bytes} < bytes) {
      EXPECT_FALSE(placer->release(reinterpret_cast<void*>(span->address_of(span->blocks))));
    }
    EXPECT_TRUE(placer->release(block.at));
  }
  expect_sound();
}

TEST_F(HeapTest, UnusedMemoryGoesBackAfterTheDecay) {
  for (const std::uint64_t decay : {3'600'000'000'000ul, 20'000'000ul}) {
    use({}, decay);
    std::vector<Block> blocks;
    for (int i = 0; i < 30000; ++i)
      blocks.push_back(get(1000));
    blocks.push_back(get(8 << 20));
    const std::uint64_t full = used();
    for (const Block& block : blocks)
      ASSERT_TRUE(placer->release(block.at));
    for (int i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
      ASSERT_TRUE(placer->release(get(300000).at)); // somebody comes by
    }
    if (decay > 1'000'000'000)
      EXPECT_GE(used(), full / 2) << "kept for reuse";
    else
      EXPECT_LE(used(), 2 * k_chunk_bytes);
    expect_sound();
  }
}

// What is taken from the system beyond the blocks: spans of sizes that are hardly used, and what is
// made present before it is needed.
TEST_F(HeapTest, ABlockOfEverySizeTakesLittle) {
  use();
  std::size_t asked = 0;
  for (unsigned c = 0; c < k_size_classes - 1; ++c) { // the last is no small block's
    ASSERT_NE(get(k_class_bytes[c]).at, nullptr);
    asked += k_class_bytes[c];
  }
  EXPECT_GE(used(), asked);
  EXPECT_LE(used(), asked + k_size_classes * 2 * k_granule);
  expect_sound();
}

TEST_F(HeapTest, AGrowingHeapIsHardlyLargerThanItsBlocks) {
  use();
  std::size_t asked = 0;
  for (int i = 1; i <= 60'000; ++i) {
    ASSERT_NE(get(1024).at, nullptr);
    asked += 1024;
    if (i % 1000 == 0) {
      EXPECT_LE(used(), asked + asked / 8 + 4 * k_granule) << asked;
    }
  }
  expect_sound();
}

TEST_F(HeapTest, WhatOneSizeGaveBackServesOthersBeforeTheHeapGrows) {
  use();
  std::vector<Block> blocks;
  for (int i = 0; i < 9'000; ++i)
    blocks.push_back(get(1024));
  const std::uint64_t full = used();
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (i % 4000 >= 64) placer->release(blocks[i].at); // every chunk keeps a few
  for (const std::size_t bytes : {48u, 700u, 3000u, 20'000u}) {
    std::vector<Block> others;
    for (std::size_t i = 0; i < full / 2 / bytes; ++i)
      others.push_back(get(bytes));
    for (const Block& block : others)
      placer->release(block.at);
  }
  EXPECT_LE(used(), full + full / 8);
  expect_sound();
}

TEST_F(HeapTest, ExhaustedHeapsServeAgainWhatWasFreedByOthers) {
  CapacityByKind capacity;
  for (auto& entry : capacity)
    entry = std::uint64_t{8} << 20;
  use(capacity);
  for (const std::size_t bytes : {64u, 5000u, 60000u}) {
    std::vector<Block> blocks;
    for (Block block = get(bytes); block.at != nullptr; block = get(bytes))
      blocks.push_back(block);
    EXPECT_GE(blocks.size() * bytes, std::size_t{5} << 20);
    EXPECT_LE(used(), std::uint64_t{8} << 20);
    std::thread([&] {
      for (const Block& block : blocks)
        EXPECT_TRUE(intact(block) && placer->release(block.at));
    }).join();
    const Block again = get(bytes);
    EXPECT_NE(again.at, nullptr);
    placer->release(again.at);
    expect_sound();
  }
}

TEST_F(HeapTest, AThreadsLastWordsAreHeard) {
  use();
  static HeapTest* test;
  static pthread_key_t later;
  static std::atomic<int> served;
  test = this;
  served = 0;
  placer->release(get(64).at); // the cache's own key is made first, so its destructor runs first
  ASSERT_EQ(pthread_key_create(&later,
                               [](void* block) {
                                 test->placer->release(block);
                                 const Block last = test->get(64);
                                 if (last.at != nullptr && test->placer->release(last.at)) ++served;
                               }),
            0);
  for (int i = 0; i < 20; ++i)
    std::thread([&] { pthread_setspecific(later, get(64).at); }).join();
  EXPECT_EQ(served, 20);
  pthread_key_delete(later);
  expect_sound();
}

TEST_F(HeapTest, AChildTakesOverWhatItsParentsThreadsKept) {
  use();
  std::mutex lock;
  std::condition_variable changed;
  int ready = 0;
  bool done = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      std::vector<Block> blocks;
      for (int i = 0; i < 200; ++i)
        blocks.push_back(get(100));
      for (int i = 0; i < 8; ++i)
        blocks.push_back(get(100'000)); // of a span of its own, which ends with it
      for (const Block& block : blocks)
        placer->release(block.at); // its magazine is full
      std::unique_lock guard(lock);
      ++ready;
      changed.notify_all();
      changed.wait(guard, [&] { return done; });
    });
  {
    std::unique_lock guard(lock);
    changed.wait(guard, [&] { return ready == 3; });
  }
  const Block before = get(100);
  placer->lock_all();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    placer->forget_other_threads();
    placer->unlock_all();
    std::string why_not;
    bool good = placer->is_sound(why_not) && intact(before) && placer->release(before.at);
    for (int i = 0; i < 2000 && good; ++i)
      good = get(100).at != nullptr;
    ::_exit(good && placer->is_sound(why_not) ? 0 : 1);
  }
  placer->unlock_all();
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  {
    const std::lock_guard guard(lock);
    done = true;
  }
  changed.notify_all();
  for (auto& thread : threads)
    thread.join();
  placer->release(before.at);
  expect_sound();
}

TEST_F(HeapTest, RandomOperationsKeepContentsAndInvariants) {
  use();
  std::mt19937 random(7);
  std::vector<Block> blocks(500);
  for (int i = 0; i < 60000; ++i) {
    Block& block = blocks[random() % blocks.size()];
    if (block.at != nullptr) {
      ASSERT_TRUE(intact(block)) << i;
      ASSERT_TRUE(placer->release(block.at)) << i;
    }
    block = get(1 + random() % (1u << (4 + random() % 14)));
    ASSERT_NE(block.at, nullptr);
    if (i % 10000 == 0) expect_sound();
  }
  for (const Block& block : blocks)
    if (block.at != nullptr) placer->release(block.at);
  expect_sound();
}

TEST(Metadata, IsAtMostSixteenBytesOrOnePercentOfABlock) {
  for (unsigned c = 0; c < k_size_classes; ++c) {
    const double blocks = static_cast<double>(granules_of_span(c) * k_granule / k_class_bytes[c]);
    const double bytes = sizeof(BlockRecord) * (blocks + 1) / blocks +
                         (sizeof(Span) + std::ceil(blocks / 64) * 8) / blocks +
                         static_cast<double>(k_class_bytes[c]) * sizeof(Span*) / k_granule +
                         static_cast<double>(k_class_bytes[c]) * sizeof(HeapChunk) / k_chunk_bytes;
    EXPECT_LE(bytes, std::max(16.0, 0.01 * k_class_bytes[c])) << k_class_bytes[c];
  }
}

} // namespace
