// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice of nodes within a tier, as far as it needs no such machine: which binding a block
// gets, what the kernel is told about it, parts of blocked ranges, nodes that the tables do not
// hold, and memory from a folder.
#include "base/os.hpp"
#include "placement/folder.hpp"
#include "placement/placer.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <vector>

namespace omptier {
namespace {

struct Told { // what the kernel was told
  int mode = -1;
  unsigned long nodes = 0;
  unsigned home = k_no_node;
};
std::vector<Told> told;
std::vector<unsigned long> policies; // of the thread, one a set_policy

long fake_bind(void*, std::size_t, int mode, const unsigned long* nodes, unsigned long, unsigned) {
  told.push_back({mode, *nodes, k_no_node});
  return 0;
}
long fake_home(void*, std::size_t, unsigned node) {
  told.back().home = node;
  return 0;
}
long fake_policy(int, const unsigned long* nodes, unsigned long) {
  policies.push_back(*nodes);
  return 0;
}
long no_move(int, unsigned long, void**, const int*, int*, int) {
  errno = ENOSYS;
  return -1;
}

// Two clusters: DRAM nodes 0 and 1, HBM nodes 2 and 3.
Platform two_clusters() {
  Platform platform;
  for (unsigned number = 0; number < 4; ++number) {
    Node node;
    node.number = number;
    node.kind = number < 2 ? MemoryKind::dram : MemoryKind::hbm;
    node.capacity = std::uint64_t{1} << 40;
    if (number < 2) node.cpus = {number};
    for (unsigned cpu = 0; cpu < 2; ++cpu)
      node.views.push_back({{cpu}, {100, 100, 1e10, 1e10}, number % 2 == cpu ? 10u : 20u});
    platform.nodes.push_back(node);
  }
  platform.tiers = {{MemoryKind::hbm, {2, 3}, std::uint64_t{2} << 40, {}},
                    {MemoryKind::dram, {0, 1}, std::uint64_t{2} << 40, {}}};
  return platform;
}

class NodesTest : public ::testing::Test {
protected:
  void SetUp() override {
    fake = os();
    fake.bind_memory = fake_bind;
    fake.set_home_node = fake_home;
    fake.set_policy = fake_policy;
    fake.move_pages = no_move;
    told.clear();
    policies.clear();
    before = replace_os_calls(&fake);
  }
  void TearDown() override { replace_os_calls(before); }
  OsCalls fake;
  const OsCalls* before = nullptr;
};

TEST_F(NodesTest, HomeNodesAreToldWithTheWholeTier) {
  const NodeSet nodes{0b1100};
  EXPECT_EQ(bind_range(0, 1 << 20, {.nodes = nodes, .spreading = Spreading::home, .home = 3}),
            BindResult::bound);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].mode, 5); // MPOL_PREFERRED_MANY
  EXPECT_EQ(told[0].nodes, 0b1100u);
  EXPECT_EQ(told[0].home, 3u);
  bind_range(0, 1 << 20, {.nodes = nodes, .spreading = Spreading::interleaved});
  EXPECT_EQ(told[1].mode, MPOL_INTERLEAVE);
  bind_range(0, 1 << 20, {.nodes = nodes});
  EXPECT_EQ(told[2].home, k_no_node);
  bind_range(0, 1 << 20, {.nodes = nodes, .spreading = Spreading::blocked});
  EXPECT_EQ(told.size(), 3u); // its pages are placed as they are made
}

TEST_F(NodesTest, OldKernelsPreferTheHome) {
  fake.bind_memory = [](void* at, std::size_t bytes, int mode, const unsigned long* nodes,
                        unsigned long limit, unsigned flags) -> long {
    if (mode == MPOL_PREFERRED) return fake_bind(at, bytes, mode, nodes, limit, flags);
    errno = EINVAL;
    return -1;
  };
  EXPECT_EQ(bind_range(0, 1 << 20, {.nodes = {0b1100}, .spreading = Spreading::home, .home = 3}),
            BindResult::bound);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].nodes, 0b1000u);
}

TEST_F(NodesTest, PartsCoverABlockOnceInOrder) {
  const NodeSet nodes{0b101101}; // 0, 2, 3, 5
  const unsigned expected[] = {0, 2, 3, 5};
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096} * 4, std::size_t{4096} * 5 + 7,
                                  std::size_t{100'000'000}}) {
    std::uintptr_t at = 0x10000000;
    for (unsigned i = 0; i < 4; ++i) {
      const Part part = part_of(0x10000000, bytes, nodes, i, 4096);
      EXPECT_EQ(part.node, expected[i]);
      EXPECT_EQ(part.bytes == 0 ? at : part.begin, at);
      EXPECT_LE(part.bytes, bytes / 4 + 4096);
      at = part.begin + part.bytes;
    }
    EXPECT_EQ(at, 0x10000000 + bytes);
  }
}

TEST_F(NodesTest, PartsArePopulatedUnderThePolicyOfTheirNodes) {
  const std::size_t bytes = 8 * page_size();
  void* range = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(range, MAP_FAILED);
  const auto begin = reinterpret_cast<std::uintptr_t>(range);
  EXPECT_TRUE(populate_parts(begin, bytes, {0b110}, page_size()));
  ASSERT_EQ(policies.size(), 3u); // both parts, then the thread's own again
  EXPECT_EQ(policies[0], 0b010u);
  EXPECT_EQ(policies[1], 0b100u);
  ::munmap(range, bytes);
}

TEST_F(NodesTest, BlocksGoToTheBindingOfTheirPartition) {
  Placer placer(two_clusters(), {});
  const auto spreading_of = [&](BlockRequest request) {
    bool fresh = false;
    Refusal why = Refusal::none;
    request.alignment = 16;
    void* block = placer.place(0, request, fresh, why);
    BlockInfo info;
    EXPECT_TRUE(block != nullptr && placer.find(block, true, info)) << describe(why);
    const Binding binding = info.space->binding();
    EXPECT_TRUE(placer.release(block));
    return binding;
  };
  const std::size_t mib = 1 << 20;
  using enum Partition;
  EXPECT_EQ(spreading_of({.bytes = mib}).spreading, Spreading::first_touch);
  EXPECT_EQ(spreading_of({.bytes = mib, .required = true}).spreading, Spreading::home);
  EXPECT_EQ(spreading_of({.bytes = 100}).spreading, Spreading::home);
  EXPECT_EQ(spreading_of({.bytes = mib, .partition = nearest}).spreading, Spreading::home);
  EXPECT_EQ(spreading_of({.bytes = 1000, .partition = blocked}).spreading, Spreading::home);
  const Binding few = spreading_of({.bytes = mib, .partition = blocked});
  EXPECT_TRUE(few.spreading == Spreading::blocked && few.small_pages);
  const Binding many = spreading_of({.bytes = 64 * mib, .partition = blocked});
  EXPECT_TRUE(many.spreading == Spreading::blocked && !many.small_pages);
  EXPECT_EQ(spreading_of({.bytes = 100, .partition = interleaved}).spreading,
            Spreading::interleaved);
  const Binding home = spreading_of({.bytes = mib, .required = true});
  EXPECT_TRUE(home.nodes.has(home.home) && home.nodes == placer.nodes_of_tier(0));
  std::string why_not;
  EXPECT_TRUE(placer.is_sound(why_not)) << why_not;
}

TEST_F(NodesTest, NodesBeyondTheTablesAreSaidAndNotUsed) {
  Platform platform = two_clusters();
  platform.nodes[2].number = 64;
  platform.nodes[3].number = 200;
  platform.tiers[0].nodes = {64, 200};
  ::testing::internal::CaptureStderr();
  Placer placer(platform, {});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("Memory node 64"), std::string::npos) << said;
  bool fresh = false;
  Refusal why = Refusal::none;
  BlockRequest request;
  request.bytes = 1 << 20;
  EXPECT_EQ(placer.place(0, request, fresh, why), nullptr);
  EXPECT_EQ(why, Refusal::not_allowed);
  void* block = placer.place(1, request, fresh, why);
  EXPECT_NE(block, nullptr);
  placer.release(block);
}

// A file system in memory stands for the one with DAX; the virtual machine has that.
TEST(FolderTest, GivesZeroedMemoryAndTakesItBack) {
  Folder folder;
  ASSERT_EQ(folder.open("/dev/shm", true), "");
  ReservedRanges ranges;
  CapacityByKind capacity;
  Ledger ledger(capacity);
  ExtentSpace extents(ranges, ledger, MemoryKind::nvm, {}, 0, folder);
  bool fresh = false;
  const std::size_t bytes = std::size_t{3} << 20;
  for (int round = 0; round < 2; ++round) {
    Extent* extent = extents.take(bytes, bytes, 1, ExtentUse::block, fresh);
    ASSERT_NE(extent, nullptr);
    auto* text = reinterpret_cast<char*>(extent->begin);
    EXPECT_EQ(text[0], 0);
    EXPECT_EQ(text[bytes - 1], 0);
    std::memset(text, 1, bytes);
    extents.hand_out(*extent);
    EXPECT_EQ(extents.begin_move(text), nullptr);
    extents.give_back(*extent, true);
  }
  EXPECT_EQ(ledger.used(MemoryKind::nvm), 0u);
}

TEST(FolderTest, AFullFileSystemRefuses) {
  Folder folder;
  ASSERT_EQ(folder.open("/dev/shm", true), "");
  ReservedRanges ranges;
  CapacityByKind capacity;
  Ledger ledger(capacity);
  ExtentSpace extents(ranges, ledger, MemoryKind::nvm, {}, 0, folder);
  OsCalls full = os();
  full.allocate_range = [](int, int, off_t, off_t) -> int {
    errno = ENOSPC;
    return -1;
  };
  bool fresh = false;
  const OsCalls* before = replace_os_calls(&full);
  EXPECT_EQ(extents.take(1 << 20, 1 << 20, 1, ExtentUse::block, fresh), nullptr);
  replace_os_calls(before);
  EXPECT_EQ(ledger.used(MemoryKind::nvm), 0u);
  Extent* extent = extents.take(1 << 20, 1 << 20, 1, ExtentUse::block, fresh);
  ASSERT_NE(extent, nullptr);
  extents.give_back(*extent, false);
}

TEST(FolderTest, RefusesWhatHasNoDax) {
  Folder folder;
  EXPECT_NE(folder.open("/dev/shm").find("dax"), std::string::npos);
  EXPECT_NE(folder.open("/nowhere").find("no file can be made"), std::string::npos);
  EXPECT_FALSE(folder.is_open());
}

} // namespace
} // namespace omptier
