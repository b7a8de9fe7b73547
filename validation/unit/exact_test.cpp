// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library behind programs of omptier-cc, driven by hand: its refusals, its map of objects
// against a plain one, its counts against those made here.

#include "sampling/exact/counters.hpp"

#include <atomic>
#include <cstdint>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace {

using namespace omptier::exact;

TEST(ExactMap, AgreesWithPlainMap) {
  static ObjectMap map;
  ASSERT_TRUE(map.open());
  std::map<std::uint64_t, ObjectRange> plain;
  std::mt19937_64 random(7);
  const std::uint64_t base = 0x7f12'3400'0000;
  const auto plain_find = [&](std::uint64_t address) {
    auto at = plain.upper_bound(address);
    if (at == plain.begin()) return std::uint64_t{0};
    --at;
    return address < at->second.end ? at->second.object : 0;
  };
  for (std::uint64_t step = 1; step <= 20'000; ++step) {
    const std::uint64_t address = base + random() % 4096 * 16 * 16;
    if (random() % 2 == 0) {
      const std::uint64_t bytes = 1 + random() % (random() % 8 == 0 ? 50'000 : 200);
      // As an allocator would: nothing overlaps, blocks begin at 16 bytes.
      const auto next = plain.lower_bound(address);
      if (plain_find(address) != 0 || (next != plain.end() && next->first < address + bytes + 16))
        continue;
      plain[address] = {address, address + bytes, step};
      map.begin(address, bytes, step);
    } else if (auto at = plain.lower_bound(address); at != plain.end()) {
      map.end(at->first);
      plain.erase(at);
    }
    const std::uint64_t probe = base + random() % (4096 * 256);
    const std::uint64_t expected = plain_find(probe);
    const ObjectRange found = map.find(probe);
    if (expected != 0) {
      EXPECT_EQ(found.object, expected) << step;
    } else if (found.end != 0) { // the rest of a block's last granule
      EXPECT_LT(probe - found.end, 16u);
    }
  }
  EXPECT_TRUE(map.is_consistent());
  EXPECT_EQ(map.find(base - 5000).end, 0u);
  EXPECT_EQ(map.find(~std::uint64_t{0}).end, 0u);
}

// As callbacks do: one thread looks while another's blocks come and go, mostly at the same places.
// What is found is one block as it was, never a part of one and a part of the next. (The thread
// sanitizer sees the rest: preset tsan.)
TEST(ExactMap, FindsWholeObjectsWhileOthersChange) {
  static ObjectMap map;
  ASSERT_TRUE(map.open());
  constexpr std::uint64_t k_base = 0x7f20'0000'0000, k_steps = 20'000;
  const auto object_of = [](std::uint64_t begin, std::uint64_t bytes) { return begin * 31 + bytes; };
  std::atomic<bool> over{false};
  std::uint64_t found = 0, torn = 0;
  std::thread reader([&] {
    std::mt19937_64 random(8);
    while (!over.load()) {
      const std::uint64_t probe = k_base + random() % 40'000;
      const ObjectRange range = map.find(probe);
      if (range.end == 0) continue;
      ++found;
      if (probe < range.begin || probe >= range.end + 15 ||
          range.object != object_of(range.begin, range.end - range.begin))
        ++torn;
    }
  });
  std::mt19937_64 random(9);
  for (std::uint64_t step = 0; step < k_steps; ++step) {
    const std::uint64_t begin = k_base + random() % 64 * 512;
    const std::uint64_t bytes = 1 + random() % (random() % 4 == 0 ? 8192 : 512);
    map.begin(begin, bytes, object_of(begin, bytes));
    if (step % 64 == 0) std::this_thread::yield();
    map.end(begin);
  }
  over = true;
  reader.join();
  EXPECT_GT(found, 0u);
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(map.find(k_base).end, 0u);
  EXPECT_TRUE(map.is_consistent());
}

struct Taken {
  std::map<std::pair<std::uint64_t, std::uint64_t>, omptier_exact_counts> cells; // pc, object
  static void take(void* self, const omptier_exact_counts* counts) {
    auto& cell = static_cast<Taken*>(self)->cells[{counts->pc, counts->object}];
    const std::uint64_t accesses = cell.accesses, bytes = cell.bytes, chases = cell.chases;
    cell = *counts;
    cell.accesses += accesses;
    cell.bytes += bytes;
    cell.chases += chases;
  }
};

TEST(ExactCounters, CountsByInstructionAndObject) {
  static ObjectMap map;
  ASSERT_TRUE(map.open());
  static std::uint64_t one[4096], two[4096];
  map.begin(reinterpret_cast<std::uint64_t>(one), sizeof one, 11);
  map.begin(reinterpret_cast<std::uint64_t>(two), sizeof two, 22);
  static ThreadCounters counters;
  Taken taken;
  for (int i = 0; i < 4096; ++i) { // one instruction on two objects in turn, another on one
    counters.count({100, reinterpret_cast<std::uint64_t>(i % 2 ? &one[i] : &two[i]), 8, false},
                   map);
    counters.count({200, reinterpret_cast<std::uint64_t>(&two[i]), 8, true}, map);
    if (i != 1000) continue;
    EXPECT_EQ(counters.drain(Taken::take, &taken), 0u);
  }
  EXPECT_EQ(counters.drain(Taken::take, &taken), 0u);
  ASSERT_EQ(taken.cells.size(), 3u);
  const auto& halves = taken.cells[{100, 11}];
  EXPECT_EQ(halves.accesses, 2048u);
  EXPECT_EQ(halves.bytes, 8u * 2048);
  EXPECT_EQ(halves.strides[0].bytes, 16);
  EXPECT_EQ(halves.strides[0].count, 2047u);
  const auto& stores = taken.cells[{200, 22}];
  EXPECT_EQ(stores.accesses, 4096u);
  EXPECT_EQ(stores.store, 1u);
  EXPECT_EQ(stores.strides[0].bytes, 8);
  // An object ends, another begins in its place.
  map.end(reinterpret_cast<std::uint64_t>(one));
  map.begin(reinterpret_cast<std::uint64_t>(one), sizeof one, 33);
  counters.count({100, reinterpret_cast<std::uint64_t>(&one[5]), 8, false}, map);
  counters.drain(Taken::take, &taken);
  EXPECT_EQ(taken.cells.count({100, 33}), 1u);
}

TEST(ExactCounters, FollowsPointers) {
  static ObjectMap map;
  ASSERT_TRUE(map.open());
  static std::uint64_t ring[1024];
  for (unsigned i = 0; i < 1024; ++i)
    ring[i] = reinterpret_cast<std::uint64_t>(&ring[(i * 5 + 1) % 1024]);
  map.begin(reinterpret_cast<std::uint64_t>(ring), sizeof ring, 1);
  static ThreadCounters counters;
  for (std::uint64_t node = ring[0], i = 0; i < 1000; ++i) {
    counters.count({300, node, 8, false}, map);
    node = *reinterpret_cast<std::uint64_t*>(node);
  }
  Taken taken;
  counters.drain(Taken::take, &taken);
  const omptier_exact_counts& chase = taken.cells[{300, 1}];
  EXPECT_EQ(chase.accesses, 1000u);
  EXPECT_EQ(chase.chases, 998u); // the first link is no chain
}

TEST(ExactCounters, SaysWhatDidNotFit) {
  static ObjectMap map;
  ASSERT_TRUE(map.open());
  static ThreadCounters counters;
  static std::uint64_t word;
  for (std::uint64_t pc = 1; pc <= 2 * ThreadCounters::k_cells; ++pc)
    counters.count({pc * 16, reinterpret_cast<std::uint64_t>(&word), 8, false}, map);
  Taken taken;
  const std::uint64_t lost = counters.drain(Taken::take, &taken);
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(lost + taken.cells.size(), 2 * ThreadCounters::k_cells);
}

// A loop as a compiler makes it that instruments nothing, or everything, or drops a store.
const omptier_exact* g_table = nullptr;
void (*g_load)(const void*, std::size_t) = nullptr;
void (*g_store)(const void*, std::size_t) = nullptr;
void nothing(double*, const double*, std::size_t) {}
void no_store_behind_load(double* to, const double* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    g_load(from + i, 8), g_load(to + i, 8);
}
void everything(double* to, const double* from, std::size_t count) {
  no_store_behind_load(to, from, count);
  for (std::size_t i = 0; i < count; i += 8)
    g_store(to + i, 64);
}

TEST(ExactLibrary, RefusesWhatIsNotInstrumented) {
  void* library = dlopen(OMPTIER_EXACT_LIBRARY, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto symbol = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    ASSERT_NE(function, nullptr) << name;
  };
  const omptier_exact* (*table)(std::uint32_t) = nullptr;
  void (*check)(void (*)(double*, const double*, std::size_t)) = nullptr;
  symbol(table, "omptier_exact_table");
  symbol(check, "omptier_exact_check");
  symbol(g_load, "__asan_loadN_noabort");
  symbol(g_store, "__asan_storeN_noabort");
  EXPECT_EQ(table(99), nullptr);
  g_table = table(OMPTIER_EXACT_VERSION);
  ASSERT_NE(g_table, nullptr);
  EXPECT_STRNE(g_table->begin(), nullptr) << "never checked";
  static int ready = 0;
  g_table->when_checked([] { ++ready; });
  EXPECT_EQ(ready, 0) << "called before the check";
  for (const auto loop : {nothing, no_store_behind_load}) {
    check(loop);
    const char* why = g_table->begin();
    ASSERT_NE(why, nullptr);
    EXPECT_NE(std::string(why).find("every access"), std::string::npos) << why;
  }
  check(everything);
  EXPECT_EQ(ready, 1) << "once, behind the first check";
  g_table->when_checked([] { ++ready; });
  EXPECT_EQ(ready, 2) << "at once, the check has run";
  EXPECT_EQ(g_table->begin(), nullptr);

  // Threads that come and go, and a consumer of the whole stream.
  static std::atomic<std::uint64_t> streamed;
  g_table->consume(
      [](void*, std::uint32_t thread, const omptier_exact_access* first, std::size_t count) {
        EXPECT_NE(thread, 0u);
        EXPECT_EQ(first->bytes, 8u);
        streamed += count;
      },
      nullptr);
  static std::uint64_t words[1000];
  g_table->object_begin(reinterpret_cast<std::uint64_t>(words), sizeof words, 5);
  Taken taken;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([] {
        for (auto& word : words)
          g_load(&word, 8);
      });
    for (std::thread& thread : threads)
      thread.join();
    EXPECT_EQ(g_table->drain(Taken::take, &taken), 0u);
  }
  g_table->end();
  g_table->consume(nullptr, nullptr);
  std::uint64_t accesses = 0;
  for (const auto& [key, counts] : taken.cells)
    accesses += key.second == 5 ? counts.accesses : 0;
  EXPECT_EQ(accesses, 80'000u);
  EXPECT_EQ(streamed.load(), 80'000u);
}

} // namespace
