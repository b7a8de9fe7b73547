// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Large blocks that share huge pages: runs of pages against a simple model of them, what thousands
// of such blocks cost the ledger and the kernel, what can be read behind a block of any size, and
// neighbours of blocks that move.
#include "base/os.hpp"
#include "dram_and_hbm.hpp"
#include "placement/placer.hpp"
#include "real_calls.hpp"
#include "units.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace omptier;

namespace {

std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

// Milliseconds of a fork, the quickest of some.
double fork_ms() {
  double best = 1e9;
  for (int i = 0; i < 7; ++i) {
    const std::uint64_t begin = monotonic_nanoseconds();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    best = std::min(best, static_cast<double>(monotonic_nanoseconds() - begin) * 1e-6);
    ::waitpid(child, nullptr, 0);
  }
  return best;
}

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + page_size() - 1) / page_size() * page_size();
}

// ---- Extents of one space against a model: who has which addresses, and what it wrote there.

struct Taken {
  Extent* extent = nullptr;
  std::size_t bytes = 0;
  unsigned char fill = 0;
};

class Model {
public:
  Model(ReservedRanges& ranges, ExtentSpace& space, unsigned seed)
      : ranges_(ranges), space_(space), random_(seed) {}

  void step() {
    const unsigned what = random_() % 100;
    if ((what < 52 && taken_.size() < 100) || taken_.empty()) return take();
    if (what < 96) return give_back();
    if (what < 98)
      space_.drop_cache(random_() % (64 * k_mib));
    else
      space_.drop_older(monotonic_nanoseconds());
  }
  void give_all_back() {
    while (!taken_.empty())
      give_back();
  }
  std::size_t committed() const {
    std::size_t sum = 0;
    for (const auto& [begin, taken] : taken_)
      sum += taken.extent->committed;
    return sum;
  }

private:
  void take() {
    const unsigned largest = random_() % 32 == 0 ? 16 : 12;
    std::size_t bytes = std::size_t{1} << (10 + random_() % largest);
    bytes += random_() % bytes; // to 4 MiB, some to 64 MiB
    if (random_() % 4 == 0) bytes = whole_pages(bytes);
    if (random_() % 8 == 0) bytes = (bytes + 2 * k_mib - 1) / (2 * k_mib) * 2 * k_mib;
    const std::size_t alignment =
        random_() % 4 == 0 ? std::size_t{1} << random_() % 25 : std::size_t{16};
    bool fresh = false;
    Taken taken{nullptr, bytes, static_cast<unsigned char>(random_() | 1)};
    taken.extent = space_.take(bytes, bytes, alignment, ExtentUse::block, fresh, random_() % 2);
    ASSERT_NE(taken.extent, nullptr);
    const std::uintptr_t begin = taken.extent->begin, end = begin + bytes;
    auto* block = reinterpret_cast<unsigned char*>(begin);
    ASSERT_EQ(begin % alignment, 0u);
    ASSERT_GE(taken.extent->committed, bytes);
    const auto above = taken_.lower_bound(begin);
    if (above != taken_.end()) {
      ASSERT_LE(taken.extent->end(), above->first) << "two have one address";
    }
    if (above != taken_.begin()) {
      ASSERT_LE(std::prev(above)->second.extent->end(), begin) << "two have one address";
    }
    for (const std::size_t at : {std::size_t{0}, bytes / 2, bytes - 1})
      ASSERT_EQ(ranges_.owner(block + at), taken.extent);
    if (fresh) {
      ASSERT_TRUE(block[0] == 0 && block[bytes / 3] == 0 && block[bytes - 1] == 0);
    }
    unsigned sum = 0; // behind it: to be read, whatever it is
    for (std::size_t i = 0; i < 64; ++i)
      sum += *reinterpret_cast<volatile unsigned char*>(end + i);
    EXPECT_LT(sum, 64u * 256);
    for (const std::size_t at : {std::size_t{0}, bytes / 2, bytes - 1})
      block[at] = taken.fill;
    space_.hand_out(*taken.extent);
    taken_[begin] = taken;
  }
  void give_back() {
    auto it = taken_.lower_bound(taken_.begin()->first + random_() % span());
    if (it == taken_.end()) --it;
    const Taken taken = it->second;
    const auto* block = reinterpret_cast<const unsigned char*>(taken.extent->begin);
    for (const std::size_t at : {std::size_t{0}, taken.bytes / 2, taken.bytes - 1})
      ASSERT_EQ(block[at], taken.fill);
    taken_.erase(it);
    ASSERT_TRUE(space_.release(*taken.extent, block, random_() % 3 != 0));
    ASSERT_FALSE(space_.release(*taken.extent, block, true)) << "twice";
  }
  std::size_t span() const { return taken_.rbegin()->first - taken_.begin()->first + 1; }

  ReservedRanges& ranges_;
  ExtentSpace& space_;
  std::mt19937_64 random_;
  std::map<std::uintptr_t, Taken> taken_;
};

TEST(RunsTest, RandomTakingAndGivingBackAgainstAModel) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    ReservedRanges ranges;
    CapacityByKind capacity;
    Ledger ledger(capacity);
    ExtentSpace space(ranges, ledger, MemoryKind::dram, {});
    Model model(ranges, space, seed);
    std::string why_not;
    for (int step = 0; step < 3000; ++step) {
      model.step();
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed << ", step " << step;
      ASSERT_EQ(ledger.used(MemoryKind::dram), model.committed() + space.cached_bytes());
      if (step % 100 == 99) {
        ASSERT_TRUE(space.is_sound(why_not)) << why_not;
      }
    }
    model.give_all_back();
    space.drop_cache(~std::size_t{0});
    ASSERT_TRUE(space.is_sound(why_not)) << why_not;
    EXPECT_EQ(ledger.used(MemoryKind::dram), 0u);
  }
}

// What nodes have free is not known then: nothing stands in the way of what nobody touches.
int open_nothing(const char*, int, unsigned) {
  return errno = ENOENT, -1;
}

// ---- Blocks on this machine's node.

class SharingTest : public ::testing::Test {
protected:
  void use(std::uint64_t decay = k_usual_decay) {
    auto platform = discover_platform({});
    ASSERT_TRUE(platform) << platform.error();
    fake_ = os();
    fake_.open = open_nothing;
    replace_os_calls(&fake_);
    placer = std::make_unique<Placer>(*platform, CapacityRules(), decay);
  }
  char* place(std::size_t bytes, bool required = false, std::size_t alignment = 16,
              bool pinned = false) {
    BlockRequest request;
    request.bytes = bytes;
    request.required = required;
    request.alignment = alignment;
    request.pinned = pinned;
    bool fresh = false;
    return static_cast<char*>(placer->place(0, request, fresh, why));
  }
  std::uint64_t used() const { return placer->ledger().used(placer->kind_of_tier(0)); }
  void expect_sound() {
    std::string why_not;
    EXPECT_TRUE(placer->is_sound(why_not)) << why_not;
  }
  void TearDown() override {
    if (placer) expect_sound();
    placer.reset();
    replace_os_calls(nullptr);
  }
  std::unique_ptr<Placer> placer;
  Refusal why = Refusal::none;

private:
  OsCalls fake_{};
};

TEST_F(SharingTest, ThousandsOfBlocksCostNoMoreThanTheirBytes) {
  use();
  constexpr std::size_t k_blocks = 10'000, k_bytes = 270'000;
  const std::size_t mappings_before = mappings();
  const double fork_before = fork_ms();
  std::vector<char*> blocks;
  for (std::size_t i = 0; i < k_blocks; ++i) {
    blocks.push_back(place(k_bytes));
    ASSERT_NE(blocks.back(), nullptr) << i << ": " << describe(why);
  }
  const std::size_t mappings_with = mappings();
  std::printf("charged %.4f of the bytes; %zu mappings, %zu before; fork %.3f ms, %.3f before\n",
              static_cast<double>(used()) / (k_blocks * k_bytes), mappings_with, mappings_before,
              fork_ms(), fork_before);
  EXPECT_LE(used(), k_blocks * k_bytes * 11 / 10);
  EXPECT_LE(mappings_with, mappings_before + 200);
  // Every second one goes: holes, of which no more than so many cost mappings.
  for (std::size_t i = 0; i < k_blocks; i += 2)
    EXPECT_TRUE(placer->release(blocks[i]));
  expect_sound();
  EXPECT_LE(mappings(), mappings_before + 2 * 4096 + 200);
  EXPECT_GE(used() - placer->cached_bytes(placer->kind_of_tier(0)), k_blocks / 2 * k_bytes);
  // And are filled again before new address space is.
  for (std::size_t i = 0; i < k_blocks; i += 2)
    ASSERT_NE(blocks[i] = place(k_bytes), nullptr);
  EXPECT_LE(used(), k_blocks * k_bytes * 11 / 10);
  EXPECT_LE(mappings(), mappings_before + 400);
  for (char* block : blocks)
    EXPECT_TRUE(placer->release(block));
  placer->give_back_unused();
  EXPECT_EQ(used(), 0u);
  EXPECT_LE(mappings(), mappings_before + 50);
}

// Touched one after the other, each before the next is taken: huge pages nevertheless.
TEST_F(SharingTest, TouchedAtOnceTheyStillShareHugePages) {
  use();
  if (huge_page_size() == 0) GTEST_SKIP() << "no huge pages here";
  constexpr std::size_t k_blocks = 1'000, k_bytes = 270'000;
  std::vector<char*> blocks;
  const auto huge_bytes = [] {
    std::ifstream rollup("/proc/self/smaps_rollup");
    std::string word;
    std::size_t kib = 0;
    while (rollup >> word)
      if (word == "AnonHugePages:") rollup >> kib;
    return kib << 10;
  };
  const std::size_t before = huge_bytes();
  for (std::size_t i = 0; i < k_blocks; ++i) {
    ASSERT_NE(blocks.emplace_back(place(k_bytes)), nullptr) << describe(why);
    std::memset(blocks.back(), 1, k_bytes);
  }
  EXPECT_GT(huge_bytes() - before, k_blocks * k_bytes / 2);
  EXPECT_LE(used(), k_blocks * k_bytes * 103 / 100);
  expect_sound();
  for (char* block : blocks)
    EXPECT_TRUE(placer->release(block));
  placer->give_back_unused();
  EXPECT_EQ(used(), 0u);
}

// More holes than may cost mappings: the others stay charged, until memory is short.
TEST_F(SharingTest, HolesBeyondTheBoundStayOpen) {
  use(0);
  std::vector<char*> blocks;
  for (int i = 0; i < 12'000; ++i)
    ASSERT_NE(blocks.emplace_back(place(270'336)), nullptr) << describe(why);
  const std::size_t mappings_before = mappings();
  for (std::size_t i = 0; i < blocks.size(); i += 2)
    EXPECT_TRUE(placer->release(blocks[i]));
  expect_sound();
  EXPECT_LE(mappings(), mappings_before + 2 * 4096 + 100);
  const std::uint64_t open = placer->cached_bytes(placer->kind_of_tier(0));
  EXPECT_GT(open, 1500u * 270'336);
  EXPECT_GE(used() - open, 6000u * 270'336);
  EXPECT_LE(used() - open, std::uint64_t{6000} * 270'336 * 101 / 100) << "ends of huge pages";
  char* again = place(270'000);
  ASSERT_NE(again, nullptr);
  placer->give_back_unused();
  expect_sound();
  EXPECT_EQ(placer->cached_bytes(placer->kind_of_tier(0)), 0u);
  EXPECT_LE(used(), std::uint64_t{6001} * 270'336 * 101 / 100);
  EXPECT_TRUE(placer->release(again));
  for (std::size_t i = 1; i < blocks.size(); i += 2)
    EXPECT_TRUE(placer->release(blocks[i]));
  EXPECT_EQ(used(), 0u);
}

// A block that the cache has too much of takes its part; blocks freed side by side serve a larger.
TEST_F(SharingTest, CachedRunsAreDividedAndJoined) {
  use();
  char* one = place(k_mib);
  char* two = place(k_mib);
  ASSERT_EQ(two, one + k_mib);
  std::memset(one, 1, 2 * k_mib);
  char* behind = place(k_mib);
  EXPECT_TRUE(placer->release(one));
  EXPECT_TRUE(placer->release(two));
  expect_sound();
  char* both = place(3 * k_mib / 2);
  EXPECT_EQ(both, one);
  EXPECT_EQ(both[k_mib], 1) << "its pages were kept";
  expect_sound();
  char* rest = place(k_mib / 2);
  EXPECT_EQ(rest, one + 3 * k_mib / 2);
  EXPECT_EQ(used(), 3 * k_mib);
  for (char* block : {both, rest, behind})
    EXPECT_TRUE(placer->release(block));
}

TEST_F(SharingTest, BlocksThatAreCheckedHaveTheirOwnCompany) {
  use();
  char* preferred = place(300'000);
  char* required = place(300'000, true);
  char* another = place(300'000);
  ASSERT_TRUE(preferred != nullptr && required != nullptr && another != nullptr);
  const std::size_t unit = placer->ranges().unit();
  const auto unit_of = [&](char* block) { return reinterpret_cast<std::uintptr_t>(block) / unit; };
  EXPECT_EQ(unit_of(preferred), unit_of(another));
  EXPECT_NE(unit_of(preferred), unit_of(required));
  for (char* block : {preferred, required, another})
    EXPECT_TRUE(placer->release(block));
}

TEST_F(SharingTest, FindTellsNeighboursApart) {
  use();
  char* one = place(300'000);
  char* two = place(300'000);
  ASSERT_EQ(two, one + whole_pages(300'000));
  BlockInfo info;
  ASSERT_TRUE(placer->find(two - 1, false, info)) << "the rest of its last page";
  EXPECT_EQ(info.begin, reinterpret_cast<std::uintptr_t>(one));
  ASSERT_TRUE(placer->find(two, false, info));
  EXPECT_EQ(info.begin, reinterpret_cast<std::uintptr_t>(two));
  EXPECT_FALSE(placer->find(two + 4096, true, info));
  EXPECT_FALSE(placer->release(two + page_size()));
  EXPECT_EQ(placer->held(two).bytes, 300'000u);
  EXPECT_EQ(placer->held(two + page_size()).bytes, 0u);
  EXPECT_TRUE(placer->release(one));
  EXPECT_FALSE(placer->release(one)) << "freed twice";
  EXPECT_FALSE(placer->find(one + 5, false, info));
  EXPECT_TRUE(placer->release(two));
}

// A program may look some bytes further than its block goes.
TEST_F(SharingTest, SomethingReadableLiesBehindEveryBlock) {
  use();
  const std::size_t unit = placer->ranges().unit(), page = page_size();
  std::vector<std::size_t> sizes;
  for (const std::size_t size : {std::size_t{64}, page, k_granule, k_large_block, unit, 2 * unit,
                                 8 * k_mib, 16 * k_mib, 32 * k_mib, 64 * k_mib})
    for (const std::size_t more : {-page, std::size_t(-64), std::size_t(-1), std::size_t{0},
                                   std::size_t{1}, page})
      if (size + more < size + page + 1 && size + more > 0 && size + more < 65 * k_mib)
        sizes.push_back(size + more);
  const auto look_behind = [](const char* block, std::size_t bytes) {
    unsigned sum = 0;
    for (std::size_t i = 0; i < 64; ++i)
      sum += static_cast<unsigned char>(const_cast<const volatile char*>(block)[bytes + i]);
    return sum;
  };
  unsigned sum = 0;
  for (const std::size_t bytes : sizes)
    for (unsigned way = 0; way < 6; ++way) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes, way " + std::to_string(way));
      const std::size_t alignment = way == 3 ? 65536 : way == 4 ? 4 * k_mib : 16;
      char* block = place(bytes, way == 1, alignment, way == 2 && bytes <= 2 * k_large_block);
      ASSERT_NE(block, nullptr) << describe(why);
      sum += look_behind(block, bytes);
      BlockInfo info;
      ASSERT_TRUE(placer->find(block, true, info));
      if (way == 5 && placer->resize_in_place(block, info.room))
        sum += look_behind(block, info.room); // grown in place as far as that goes
      EXPECT_TRUE(placer->release(block));
    }
  EXPECT_LT(sum, sizes.size() * 12 * 64 * 256);
}

TEST(FolderSharingTest, SomethingReadableLiesBehindBlocksOfAFolder) {
  Folder folder;
  ASSERT_EQ(folder.open("/dev/shm", true), "");
  ReservedRanges ranges;
  CapacityByKind capacity;
  Ledger ledger(capacity);
  ExtentSpace extents(ranges, ledger, MemoryKind::nvm, {}, 0, folder);
  std::string why_not;
  for (const std::size_t bytes : {page_size(), k_large_block, 2 * k_mib, 8 * k_mib, 40 * k_mib}) {
    bool fresh = false;
    Extent* extent = extents.take(bytes, bytes, 1, ExtentUse::block, fresh);
    ASSERT_NE(extent, nullptr);
    const auto* behind = reinterpret_cast<const volatile char*>(extent->begin + bytes);
    for (int i = 0; i < 64; ++i)
      EXPECT_EQ(behind[i], 0);
    EXPECT_TRUE(extents.is_sound(why_not)) << why_not;
    extents.give_back(*extent, true);
  }
  EXPECT_EQ(ledger.used(MemoryKind::nvm), 0u);
}

// ---- A machine with 40 GB of memory that nobody touches, and one with two kinds.

std::set<std::uintptr_t> moved_to_hbm; // pages
std::set<std::uintptr_t> in_small;     // units in which no huge pages are made

long move_all(int, unsigned long count, void** pages, const int* nodes, int* status, int) {
  for (unsigned long i = 0; i < count; ++i) {
    const auto page = reinterpret_cast<std::uintptr_t>(pages[i]);
    if (nodes != nullptr && nodes[i] == 0) moved_to_hbm.erase(page);
    if (nodes != nullptr && nodes[i] == 1) moved_to_hbm.insert(page);
    status[i] = moved_to_hbm.count(page) != 0 ? 1 : 0;
  }
  return 0;
}
int advise_units(void* at, std::size_t bytes, int advice) {
  constexpr std::size_t k_unit = 2 * k_mib;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  if (advice == MADV_DONTNEED)
    moved_to_hbm.erase(moved_to_hbm.lower_bound(begin), moved_to_hbm.lower_bound(begin + bytes));
  if (bytes < 512 * k_mib)
    for (std::uintptr_t unit = begin; unit < begin + bytes; unit += k_unit) {
      if (advice == MADV_NOHUGEPAGE) in_small.insert(unit / k_unit);
      if (advice == MADV_HUGEPAGE) in_small.erase(unit / k_unit);
    }
  return real->advise(at, bytes, advice);
}

class UnrealTest : public ::testing::Test {
protected:
  void SetUp() override {
    real = &os();
    fake_ = *real;
    fake_.move_pages = move_all;
    fake_.bind_memory = [](void*, std::size_t, int, const unsigned long*, unsigned long,
                           unsigned) -> long { return 0; };
    fake_.advise = advise_units;
    fake_.open = open_nothing;
    replace_os_calls(&fake_);
    moved_to_hbm.clear();
    in_small.clear();
    constexpr std::uint64_t k_node = 40'000'000'000;
    placer_ = std::make_unique<Placer>(dram_and_hbm(k_node), only(MemoryKind::dram, k_node));
  }
  void TearDown() override {
    expect_sound();
    placer_.reset();
    replace_os_calls(nullptr);
  }
  char* in_dram(std::size_t bytes) {
    BlockRequest request;
    request.bytes = bytes;
    bool fresh = false;
    Refusal why = Refusal::none;
    void* block = placer_->place(1, request, fresh, why);
    EXPECT_NE(block, nullptr) << describe(why);
    return static_cast<char*>(block);
  }
  void expect_sound() {
    std::string why_not;
    EXPECT_TRUE(placer_->is_sound(why_not)) << why_not;
  }
  std::unique_ptr<Placer> placer_;

private:
  OsCalls fake_{};
};

TEST_F(UnrealTest, AHundredThousandBlocks) {
  constexpr std::size_t k_blocks = 100'000, k_bytes = 300 << 10;
  const std::size_t mappings_before = mappings();
  std::vector<char*> blocks;
  for (std::size_t i = 0; i < k_blocks; ++i)
    ASSERT_NE(blocks.emplace_back(in_dram(k_bytes)), nullptr) << i;
  EXPECT_LE(placer_->ledger().used(MemoryKind::dram), k_blocks * k_bytes * 11 / 10);
  const std::size_t mappings_with = mappings();
  std::printf("%zu mappings, %zu before; fork %.3f ms\n", mappings_with, mappings_before,
              fork_ms());
  EXPECT_LE(mappings_with, 2000u);
  for (char* block : blocks)
    EXPECT_TRUE(placer_->release(block));
}

// Its neighbours' pages stay, huge pages are made there again once it is gone, and who has its
// place next finds nothing of it.
TEST_F(UnrealTest, AMovedBlockTakesNothingAlong) {
  char* blocks[4];
  for (char*& block : blocks) {
    block = in_dram(700'000);
    std::memset(block, 1, 700'000);
  }
  ASSERT_EQ(blocks[1], blocks[0] + whole_pages(700'000));
  std::uint64_t moved = 0;
  ASSERT_EQ(placer_->move_block(blocks[1], MemoryKind::hbm, moved), MoveResult::moved);
  ASSERT_EQ(placer_->move_block(blocks[2], MemoryKind::hbm, moved), MoveResult::moved);
  EXPECT_EQ(moved_to_hbm.size() * page_size(), 2 * whole_pages(700'000));
  EXPECT_EQ(*moved_to_hbm.begin(), reinterpret_cast<std::uintptr_t>(blocks[1]));
  EXPECT_EQ(placer_->ledger().used(MemoryKind::hbm), 2 * whole_pages(700'000));
  EXPECT_EQ(placer_->ledger().used(MemoryKind::dram), 2 * whole_pages(700'000));
  expect_sound();
  const bool huge = huge_page_size() == 2 * k_mib;
  EXPECT_EQ(in_small.empty(), !huge);
  EXPECT_TRUE(placer_->release(blocks[1]));
  EXPECT_EQ(in_small.empty(), !huge) << "another that moved lies there";
  EXPECT_TRUE(placer_->release(blocks[2]));
  EXPECT_TRUE(in_small.empty());
  EXPECT_TRUE(moved_to_hbm.empty());
  EXPECT_EQ(placer_->ledger().used(MemoryKind::hbm), 0u);
  EXPECT_EQ(placer_->cached_bytes(MemoryKind::dram), 0u) << "what was moved is not kept";
  char* again = in_dram(1'400'000);
  EXPECT_EQ(again, blocks[1]);
  EXPECT_EQ(again[5000], 0);
  for (char* block : {blocks[0], again, blocks[3]})
    EXPECT_TRUE(placer_->release(block));
}

// Parts and a front, whose borders and ends lie in units that others have pages in.
TEST_F(UnrealTest, PartsOfABlockAmongOthers) {
  const std::size_t page = page_size();
  char* before = in_dram(k_mib);
  char* block = in_dram(5 * k_mib + page);
  char* behind = in_dram(300'000);
  ASSERT_TRUE(block == before + k_mib && behind == block + 5 * k_mib + page);
  std::memset(before, 1, k_mib);
  std::memset(behind, 1, 300'000);
  EXPECT_EQ(placer_->place_part(block, 0, k_mib / 2, 0), k_mib / 2);
  EXPECT_EQ(placer_->place_part(block, 4 * k_mib, 5 * k_mib + page, 0), k_mib + page);
  expect_sound();
  EXPECT_EQ(moved_to_hbm.size() * page, 3 * k_mib / 2 + page);
  EXPECT_EQ(*moved_to_hbm.begin(), reinterpret_cast<std::uintptr_t>(block));
  EXPECT_EQ(*moved_to_hbm.rbegin(), reinterpret_cast<std::uintptr_t>(behind) - page);
  EXPECT_EQ(before[k_mib - 1], 1);
  EXPECT_EQ(behind[0], 1);
  EXPECT_EQ(placer_->ledger().used(MemoryKind::hbm), 3 * k_mib / 2 + page);
  EXPECT_TRUE(placer_->release(block));
  EXPECT_TRUE(in_small.empty());
  EXPECT_TRUE(moved_to_hbm.empty());
  EXPECT_EQ(placer_->ledger().used(MemoryKind::hbm), 0u);
  EXPECT_EQ(before[k_mib - 1], 1);
  EXPECT_EQ(behind[0], 1);
  EXPECT_TRUE(placer_->release(before));
  EXPECT_TRUE(placer_->release(behind));
}

} // namespace
