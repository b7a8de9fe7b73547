// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spans of small blocks by site, driven as malloc and the recorder drive them, with stacks made up
// here.
#include "preload/blocks.hpp"
#include "preload/small_spans.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace omptier::preload {
thread_local unsigned Busy::depth_ = 0; // of preload/blocks.cpp, which needs a malloc in front
}

using namespace omptier::preload;

namespace {

// A call whose return addresses are these; two words apart on the stack.
class MadeUpCall {
public:
  MadeUpCall(std::uint32_t site, std::initializer_list<std::uint64_t> code) {
    words.site = site;
    for (const std::uint64_t address : code) {
      words.code[words.count] = address;
      words.above[words.count] = 16 * words.count;
      stack[std::size_t{2} * words.count++] = address;
    }
  }
  Call call() const { return {reinterpret_cast<const void*>(stack[0]), stack.data()}; }
  void* allocate(std::size_t bytes) const {
    return small_spans::allocate(bytes, call(),
                                 [](std::size_t, const void*) -> void* { return nullptr; });
  }

  omptier_call_words words{};
  std::array<std::uintptr_t, 64> stack{};
};

std::uint32_t new_site() {
  static std::uint32_t next = 1000;
  return next++;
}

std::uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

omptier_small_place place_of(const void* address, std::uint64_t time) {
  omptier_small_place place{};
  if (small_spans::k_table.find(reinterpret_cast<std::uintptr_t>(address), time, &place) != 1)
    place.site = k_no_site;
  return place;
}

omptier_small_counts counts_of(std::uint32_t site) {
  omptier_small_counts found{};
  found.site = site;
  small_spans::k_table.counts(
      [](void* argument, const omptier_small_counts* counts) {
        auto& wanted = *static_cast<omptier_small_counts*>(argument);
        if (counts->site == wanted.site) wanted = *counts;
      },
      &found);
  return found;
}

} // namespace

TEST(SmallSpans, BlocksOfACallBelongToItsSite) {
  const MadeUpCall one(new_site(), {0x1000, 0x2000, 0x3000}),
      other(new_site(), {0x1000, 0x2000, 0x4000});
  EXPECT_EQ(one.allocate(216), nullptr);
  ASSERT_TRUE(small_spans::k_table.serve(&one.words));
  ASSERT_TRUE(small_spans::k_table.serve(&other.words));
  char* a = static_cast<char*>(one.allocate(216));
  char* b = static_cast<char*>(other.allocate(216));
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_TRUE(small_spans::holds(a) && !small_spans::holds(&one));
  EXPECT_EQ(place_of(a, now()).site, one.words.site);
  EXPECT_EQ(place_of(b + 215, now()).site, other.words.site);
  EXPECT_EQ(place_of(a + 100, now()).offset, 100u);
  EXPECT_EQ(place_of(a, now()).bytes, 224u);
  EXPECT_EQ(small_spans::size_of(a), 224u);
  const MadeUpCall third(0, {0x1000, 0x2000, 0x5000}), fourth(0, {0x1000, 0x6000}),
      fifth(0, {0x7000, 0x2000, 0x3000});
  for (const MadeUpCall* unknown : {&third, &fourth, &fifth})
    EXPECT_EQ(unknown->allocate(216), nullptr);
  small_spans::release(a);
  small_spans::release(b);
  EXPECT_EQ(small_spans::what_is_wrong(), nullptr);
}

TEST(SmallSpans, CountsAreExact) {
  const MadeUpCall call(new_site(), {0x10200, 0x2000});
  ASSERT_TRUE(small_spans::k_table.serve(&call.words));
  std::vector<void*> blocks;
  for (int i = 0; i < 10'000; ++i)
    blocks.push_back(call.allocate(216));
  for (int i = 0; i < 4'000; ++i)
    small_spans::release(blocks[static_cast<std::size_t>(i)]);
  const omptier_small_counts counts = counts_of(call.words.site);
  EXPECT_EQ(counts.objects, 10'000u);
  EXPECT_EQ(counts.bytes, 216u * 10'000);
  EXPECT_EQ(counts.largest, 216u);
  EXPECT_EQ(counts.live, 216u * 6'000);
  EXPECT_GE(counts.peak, 216u * (10'000 - 64));
  EXPECT_LE(counts.peak, 216u * 10'000);
  EXPECT_EQ(counts_of(call.words.site).peak, counts.live); // since the counts before
  for (int i = 0; i < 10'000; ++i) // the first ones a second time: nothing happens
    small_spans::release(blocks[static_cast<std::size_t>(i)]);
  small_spans::release(static_cast<char*>(blocks[9'999]) + 16);
  EXPECT_EQ(counts_of(call.words.site).live, 0u);
  EXPECT_EQ(small_spans::what_is_wrong(), nullptr);
}

TEST(SmallSpans, EmptySpansServeOthersAndAreRemembered) {
  const MadeUpCall one(new_site(), {0x10300, 0x2000}), other(new_site(), {0x10301, 0x2000});
  ASSERT_TRUE(small_spans::k_table.serve(&one.words));
  ASSERT_TRUE(small_spans::k_table.serve(&other.words));
  std::vector<void*> blocks;
  for (int i = 0; i < 20'000; ++i)
    blocks.push_back(one.allocate(1000));
  const std::uint64_t before = now();
  std::set<std::uintptr_t> spans;
  for (void* block : blocks) {
    spans.insert(reinterpret_cast<std::uintptr_t>(block) / k_span);
    small_spans::release(block);
  }
  unsigned again = 0, remembered = 0;
  for (void*& block : blocks) {
    block = other.allocate(500);
    ASSERT_NE(block, nullptr);
    again += spans.contains(reinterpret_cast<std::uintptr_t>(block) / k_span) ? 1 : 0;
    if (!spans.contains(reinterpret_cast<std::uintptr_t>(block) / k_span)) continue;
    EXPECT_EQ(place_of(block, now()).site, other.words.site);
    const std::uint32_t site = place_of(block, before).site; // none: in front of its first block
    EXPECT_TRUE(site == one.words.site || site == k_no_site) << site;
    remembered += site == one.words.site ? 1 : 0;
    EXPECT_EQ(place_of(block, 1).site, k_no_site); // no span yet
  }
  EXPECT_GT(again, 19'000u);
  EXPECT_GT(remembered, 0.97 * again);
  for (void* block : blocks)
    small_spans::release(block);
  EXPECT_EQ(small_spans::what_is_wrong(), nullptr);
}

// Memory stays in proportion: what lies idle is not added to.
TEST(SmallSpans, NoSpansAreAddedWhileManyLieIdle) {
  const MadeUpCall one(new_site(), {0x10400, 0x2000}), other(new_site(), {0x10401, 0x2000});
  ASSERT_TRUE(small_spans::k_table.serve(&one.words));
  ASSERT_TRUE(small_spans::k_table.serve(&other.words));
  std::vector<void*> blocks;
  for (int i = 0; i < 100'000; ++i)
    blocks.push_back(one.allocate(216));
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (i % 10 != 0) small_spans::release(blocks[i]); // nine in ten: no span is empty
  unsigned served = 0;
  std::vector<void*> others;
  for (int i = 0; i < 1000; ++i)
    if (void* block = other.allocate(100); block != nullptr) others.push_back(block), ++served;
  EXPECT_EQ(served, 0u);
  for (int i = 0; i < 50'000; ++i) { // its own site fills them
    others.push_back(one.allocate(216));
    ASSERT_NE(others.back(), nullptr);
  }
  for (std::size_t i = 0; i < blocks.size(); i += 10)
    small_spans::release(blocks[i]);
  for (void* block : others)
    small_spans::release(block);
  EXPECT_EQ(small_spans::what_is_wrong(), nullptr);
}

// Half of the threads allocate what the others free; all of them end.
TEST(SmallSpans, ThreadsFreeOthersBlocks) {
  const MadeUpCall call(new_site(), {0x10500, 0x2000});
  ASSERT_TRUE(small_spans::k_table.serve(&call.words));
  constexpr std::size_t k_pairs = 4, k_blocks = 50'000;
  std::vector<std::atomic<std::uint64_t*>> passed(k_pairs * k_blocks);
  std::vector<std::thread> threads;
  std::atomic<unsigned> wrong{0};
  for (std::size_t pair = 0; pair < k_pairs; ++pair) {
    threads.emplace_back([&, pair] {
      for (std::size_t i = 0; i < k_blocks; ++i) {
        auto* block = static_cast<std::uint64_t*>(call.allocate(40));
        for (std::size_t k = 0; k < 5; ++k)
          block[k] = pair * k_blocks + i;
        passed[pair * k_blocks + i].store(block, std::memory_order_release);
      }
    });
    threads.emplace_back([&, pair] {
      for (std::size_t i = 0; i < k_blocks; ++i) {
        std::uint64_t* block = nullptr;
        while ((block = passed[pair * k_blocks + i].load(std::memory_order_acquire)) == nullptr)
          std::this_thread::yield();
        for (std::size_t k = 0; k < 5; ++k)
          wrong += block[k] != pair * k_blocks + i ? 1u : 0u;
        small_spans::release(block);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0u);
  const omptier_small_counts counts = counts_of(call.words.site);
  EXPECT_EQ(counts.objects, k_pairs * k_blocks);
  EXPECT_EQ(counts.live, 0u);
  EXPECT_EQ(small_spans::what_is_wrong(), nullptr);
}

// While a thread holds the lock for a fork, it takes no block, and frees wait.
TEST(SmallSpans, ForkingThreadsWaitForNothing) {
  const MadeUpCall call(new_site(), {0x10600, 0x2000});
  ASSERT_TRUE(small_spans::k_table.serve(&call.words));
  std::vector<void*> blocks;
  for (int i = 0; i < 300; ++i)
    blocks.push_back(call.allocate(64));
  Busy::enter();
  small_spans::before_fork();
  unsigned served = 0;
  for (int i = 0; i < 300; ++i)
    served += call.allocate(64) != nullptr ? 1 : 0; // as many as the thread has
  EXPECT_LE(served, 64u);
  for (void* block : blocks)
    small_spans::release(block);
  small_spans::after_fork_in_parent();
  Busy::leave();
  small_spans::release(call.allocate(64));
  for (int i = 0; i < 300; ++i)
    blocks[static_cast<std::size_t>(i)] = call.allocate(64);
  for (void* block : blocks)
    small_spans::release(block);
  EXPECT_EQ(small_spans::what_is_wrong(), nullptr);
  EXPECT_EQ(counts_of(call.words.site).live, 64u * served);
}

TEST(SmallSpans, ForkedChildrenBeginAnew) {
  const MadeUpCall call(new_site(), {0x10700, 0x2000});
  ASSERT_TRUE(small_spans::k_table.serve(&call.words));
  std::vector<void*> blocks;
  for (int i = 0; i < 5'000; ++i) {
    blocks.push_back(call.allocate(216));
    ASSERT_NE(blocks.back(), nullptr);
  }
  Busy::enter();
  small_spans::before_fork();
  const pid_t child = fork();
  if (child != 0) {
    small_spans::after_fork_in_parent();
    Busy::leave();
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0); // which expectation of the child failed
    EXPECT_EQ(counts_of(call.words.site).live, 216u * 5'000);
    for (void* block : blocks)
      small_spans::release(block);
    EXPECT_EQ(small_spans::what_is_wrong(), nullptr);
    return;
  }
  small_spans::after_fork_in_child();
  Busy::leave();
  omptier_small_place place{};
  const auto find = [&](void* block) {
    return small_spans::k_table.find(reinterpret_cast<std::uintptr_t>(block), now(), &place);
  };
  const auto expect = [](bool good, int which) {
    if (!good) std::_Exit(which);
  };
  expect(call.allocate(216) == nullptr, 1);
  expect(find(blocks[0]) == -1, 2);
  for (void* block : blocks)
    small_spans::release(block);
  expect(counts_of(call.words.site).objects == 0, 3);
  expect(small_spans::k_table.serve(&call.words) == 1, 4);
  void* fresh = call.allocate(216);
  expect(fresh != nullptr, 5);
  expect(find(fresh) == 1 && place.site == call.words.site, 6);
  expect(counts_of(call.words.site).objects == 1, 7);
  small_spans::release(fresh);
  expect(small_spans::what_is_wrong() == nullptr, 8);
  std::_Exit(0);
}

// A program that handles SIGSEGV may allocate there, also where it interrupts the slow paths: its
// third block is taken from a span whose states cannot be written.
namespace {
const MadeUpCall* g_handlers = nullptr;
void* g_page = nullptr;
void* g_to_free = nullptr;
unsigned g_handled = 0;
void make_writable(int) {
  alarm(20); // waits for the lock that its thread has
  for (int i = 0; i < 3; ++i)
    if (void* block = g_handlers->allocate(700)) small_spans::release(block);
  mprotect(g_page, k_span, PROT_READ | PROT_WRITE);
  small_spans::release(g_to_free);
  ++g_handled;
  alarm(0);
}
} // namespace
TEST(SmallSpans, HandlersMayAllocate) {
  const MadeUpCall call(new_site(), {0x10800, 0x2000}), handlers(new_site(), {0x10801, 0x2000});
  ASSERT_TRUE(small_spans::k_table.serve(&call.words));
  ASSERT_TRUE(small_spans::k_table.serve(&handlers.words));
  std::vector<void*> blocks;
  for (int i = 0; i < 2; ++i) // the first batch
    blocks.push_back(call.allocate(3000));
  ASSERT_NE(blocks[0], nullptr);
  g_page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(blocks[0]) & ~(k_span - 1));
  g_handlers = &handlers;
  g_to_free = blocks[0];
  struct sigaction action{}, before{};
  action.sa_handler = make_writable;
  ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);
  ASSERT_EQ(mprotect(g_page, k_span, PROT_READ), 0);
  blocks.push_back(call.allocate(3000));
  ASSERT_EQ(sigaction(SIGSEGV, &before, nullptr), 0);
  EXPECT_EQ(g_handled, 1u);
  ASSERT_NE(blocks[2], nullptr);
  EXPECT_NE(blocks[2], blocks[0]);
  small_spans::release(blocks[1]);
  small_spans::release(blocks[2]);
  EXPECT_EQ(counts_of(call.words.site).live, 3000u); // freed by the handler, later
  for (int i = 0; i < 20; ++i)
    blocks.push_back(call.allocate(3000));
  for (std::size_t i = 3; i < blocks.size(); ++i)
    small_spans::release(blocks[i]);
  EXPECT_EQ(counts_of(call.words.site).live, 0u);
  EXPECT_EQ(small_spans::what_is_wrong(), nullptr);
}

// The recorder asks again for a call whose blocks found no room: that takes no other call's place.
TEST(SmallSpans, ACallIsServedOnce) {
  const MadeUpCall call(new_site(), {0x10900, 0x2000, 0x3000});
  for (unsigned i = 0; i < 2 * k_most_alike; ++i)
    ASSERT_TRUE(small_spans::k_table.serve(&call.words)) << i;
  const MadeUpCall like(new_site(), {0x10900, 0x2000, 0x4000});
  EXPECT_TRUE(small_spans::k_table.serve(&like.words));
}

// Where no span may be added, a call asks for one now and then, not for each block.
TEST(SmallSpans, NoRoomIsAskedForSeldom) {
  const MadeUpCall one(new_site(), {0x10a00, 0x2000}), other(new_site(), {0x10a01, 0x2000});
  ASSERT_TRUE(small_spans::k_table.serve(&one.words));
  ASSERT_TRUE(small_spans::k_table.serve(&other.words));
  std::vector<void*> blocks;
  for (int i = 0; i < 100'000; ++i)
    blocks.push_back(one.allocate(216));
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (i % 10 != 0) small_spans::release(blocks[i]);
  errno = 0;
  EXPECT_EQ(other.allocate(2000), nullptr);
  for (std::size_t i = 0; i < blocks.size(); i += 10)
    small_spans::release(blocks[i]);
  unsigned left_out = 0;
  void* block = nullptr;
  while ((block = other.allocate(2000)) == nullptr && left_out < 1000)
    ++left_out;
  EXPECT_GE(left_out, 10u);
  EXPECT_LE(left_out, 100u);
  if (block != nullptr) small_spans::release(block);
  EXPECT_EQ(small_spans::what_is_wrong(), nullptr);
}

// What the kernel refuses is not the program's error. Locked pages cannot be given back.
TEST(SmallSpans, ErrnoStaysAsItWas) {
  const MadeUpCall call(new_site(), {0x10b00, 0x2000});
  ASSERT_TRUE(small_spans::k_table.serve(&call.words));
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i)
    if (void* block = call.allocate(4000)) blocks.push_back(block);
  ASSERT_EQ(blocks.size(), 1000u);
  std::set<std::uintptr_t> spans;
  for (void* block : blocks)
    spans.insert(reinterpret_cast<std::uintptr_t>(block) & ~(k_span - 1));
  bool locked = true;
  for (const std::uintptr_t span : spans)
    locked = locked && mlock(reinterpret_cast<void*>(span), k_span) == 0;
  errno = 0;
  for (void* block : blocks)
    small_spans::release(block);
  EXPECT_EQ(errno, 0);
  for (const std::uintptr_t span : spans)
    munlock(reinterpret_cast<void*>(span), k_span);
  if (!locked) GTEST_SKIP() << "no pages may be locked";
}

// All at once: threads come and go, free each other's blocks, calls become served, samples are
// looked up, counts are taken and the process forks. For the thread sanitizer above all.
TEST(SmallSpans, EverythingAtOnce) {
  constexpr std::uint64_t k_first = 0x10c00;
  constexpr unsigned k_calls = 4, k_workers = 3, k_rounds = 20;
  std::vector<MadeUpCall> calls;
  for (unsigned i = 0; i < k_calls; ++i)
    calls.emplace_back(new_site(), std::initializer_list<std::uint64_t>{k_first, 0x2000, 0x3000 + i});
  ASSERT_TRUE(small_spans::k_table.serve(&calls[0].words));
  std::array<std::atomic<unsigned char*>, 512> shelf{};
  std::atomic<unsigned> wrong{0};
  const auto work = [&](unsigned seed) {
    std::uint32_t random = seed;
    for (int i = 0; i < 4000; ++i) {
      random = random * 1664525 + 1013904223;
      const MadeUpCall& call = calls[random >> 8 & (k_calls - 1)];
      const std::size_t bytes = 16 + (random >> 12) % 3 * 40;
      auto* block = static_cast<unsigned char*>(call.allocate(bytes));
      if (block == nullptr) continue;
      const auto mark = static_cast<unsigned char>(random >> 24);
      block[0] = mark;
      std::memset(block + 1, mark, 15);
      unsigned char* taken = shelf[random >> 16 & 511].exchange(block);
      if (taken == nullptr) continue;
      for (int k = 1; k < 16; ++k)
        wrong += taken[k] != taken[0] ? 1u : 0u;
      small_spans::release(taken);
    }
  };
  std::atomic<bool> over{false};
  std::thread recorder([&] {
    for (unsigned i = 0; !over; ++i) {
      small_spans::k_table.serve(&calls[i % k_calls].words);
      counts_of(calls[0].words.site);
      place_of(shelf[i & 511].load(), now());
    }
  });
  for (unsigned round = 0; round < k_rounds; ++round) {
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < k_workers; ++i)
      workers.emplace_back(work, round * k_workers + i + 1);
    if (round % 5 == 0) {
      Busy::enter();
      small_spans::before_fork();
      if (const pid_t child = fork(); child == 0) {
        small_spans::after_fork_in_child();
        Busy::leave();
        _exit(calls[0].allocate(64) == nullptr ? 0 : 1);
      } else {
        small_spans::after_fork_in_parent();
        Busy::leave();
        int status = 1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
      }
    }
    for (std::thread& worker : workers)
      worker.join();
  }
  over = true;
  recorder.join();
  for (std::atomic<unsigned char*>& block : shelf)
    if (block != nullptr) small_spans::release(block);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(counts_of(calls[0].words.site).live, 0u);
  EXPECT_EQ(small_spans::what_is_wrong(), nullptr);
}

// Spans' first blocks are spread over the sets of a cache, and so are the blocks of a span.
TEST(SmallSpans, BlocksOfWholePagesAreSpreadOverTheCache) {
  std::map<std::uintptr_t, unsigned> at; // by where in a page they begin
  std::vector<void*> blocks;
  for (unsigned i = 0; i < 16; ++i) {
    const MadeUpCall call(new_site(), {0x10c00 + i, 0x2000});
    if (!small_spans::k_table.serve(&call.words)) continue;
    for (int k = 0; k < 2; ++k)
      if (void* block = call.allocate(8192); block != nullptr) {
        blocks.push_back(block);
        ++at[reinterpret_cast<std::uintptr_t>(block) % 4096];
      }
  }
  ASSERT_GE(blocks.size(), 16u);
  for (const auto& [where, many] : at)
    EXPECT_LE(many, blocks.size() / 4) << where;
  for (void* block : blocks)
    small_spans::release(block);
}

// The last one: it uses up the bins.
TEST(SmallSpans, EverySizeHasItsRoomAndAlignment) {
  const MadeUpCall call(new_site(), {0x10100, 0x2000});
  ASSERT_TRUE(small_spans::k_table.serve(&call.words));
  std::map<std::uintptr_t, std::size_t> blocks;
  for (std::size_t bytes = 0; bytes < small_spans::k_below; bytes += bytes < 300 ? 1 : 97)
    for (int i = 0; i < 5; ++i) {
      void* block = call.allocate(bytes);
      if (block == nullptr) continue; // bins are made as spans grow
      EXPECT_GE(small_spans::size_of(block), bytes);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0u);
      std::memset(block, static_cast<int>(bytes), small_spans::size_of(block));
      ASSERT_TRUE(blocks.emplace(reinterpret_cast<std::uintptr_t>(block), bytes).second);
    }
  EXPECT_GT(blocks.size(), 300u);
  for (auto at = blocks.begin(); at != blocks.end(); ++at) {
    const auto* block = reinterpret_cast<unsigned char*>(at->first);
    const std::size_t room = small_spans::size_of(block);
    if (std::next(at) != blocks.end()) {
      EXPECT_LE(at->first + room, std::next(at)->first);
    }
    EXPECT_EQ(block[0], static_cast<unsigned char>(at->second));
    EXPECT_EQ(block[room - 1], static_cast<unsigned char>(at->second));
  }
  for (const auto& [block, bytes] : blocks)
    small_spans::release(reinterpret_cast<void*>(block));
  for (const std::size_t alignment : {16, 32, 64, 128, 256})
    for (const std::size_t bytes : {1, 100, 500, 1100, 4160, 5000, 16'384}) {
      void* block = small_spans::allocate_aligned(bytes, alignment, call.call());
      if (block == nullptr) continue;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u) << bytes;
      small_spans::release(block);
    }
  EXPECT_EQ(small_spans::allocate_aligned(100, 512, call.call()), nullptr);
  EXPECT_EQ(small_spans::what_is_wrong(), nullptr);
}
