// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is promised and what is in hand, on nodes that are not there (made_up_nodes.hpp), whose free
// memory and control group's limit are made up too: no block is counted twice, and a child does not
// keep what its parent's other threads had in hand.
#include "dram_and_hbm.hpp"
#include "made_up_nodes.hpp"
#include "placement/placer.hpp"
#include "real_calls.hpp"
#include "units.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <semaphore>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace omptier;

namespace {

constexpr std::size_t k_node_bytes = 16 * k_mib; // each of two nodes
constexpr std::size_t k_hbm = 0, k_dram = 1;     // tiers

std::array<std::size_t, 2> free_bytes{};
std::size_t group_limit = 0;
int group_reads = 0;

// Files that are made up, by number of descriptor; nullptr ends them.
constexpr const char* k_made_up_files[] = {"/sys/devices/system/node/node0/meminfo",
                                           "/sys/devices/system/node/node1/meminfo",
                                           "/proc/zoneinfo",
                                           "/proc/self/cgroup",
                                           "/sys/fs/cgroup/job/memory.max",
                                           "/sys/fs/cgroup/job/memory.current",
                                           "/sys/fs/cgroup/memory.max",
                                           nullptr};
constexpr int k_first_file = 100'000;

std::string text_of(unsigned file) {
  if (file < 2)
    return "MemTotal: " + std::to_string(k_node_bytes >> 10) +
           " kB\nMemFree: " + std::to_string(free_bytes[file] >> 10) + " kB\n";
  if (file == 3) return "0::/job\n";
  if (file == 4) return std::to_string(group_limit) + "\n";
  group_reads += file == 5 ? 1 : 0;
  return file == 5 ? "0\n" : "";
}
int open_made_up(const char* path, int flags, unsigned mode) {
  for (int i = 0; k_made_up_files[i] != nullptr; ++i)
    if (std::strcmp(path, k_made_up_files[i]) == 0) return k_first_file + i;
  return real->open(path, flags, mode);
}
// The next look at what a node has free waits: a fresh block is in hand.
std::binary_semaphore asked{0}, answer{0};
std::atomic<int> waits{0};

ssize_t read_made_up(int fd, void* data, std::size_t bytes) {
  if (fd < k_first_file) return real->read(fd, data, bytes);
  if (fd < k_first_file + 2 && waits.exchange(0) != 0) {
    asked.release();
    EXPECT_TRUE(answer.try_acquire_for(std::chrono::seconds(20)));
  }
  const std::string text = text_of(static_cast<unsigned>(fd - k_first_file));
  return static_cast<ssize_t>(text.copy(static_cast<char*>(data), bytes));
}
int close_made_up(int fd) {
  return fd < k_first_file ? real->close(fd) : 0;
}

// The next look at where pages are waits: a block that is being made present is in hand.
std::binary_semaphore look_reached{0}, look_goes_on{0};
std::atomic<int> look_pauses{0};

long look(int pid, unsigned long count, void** pages, const int* nodes, int* status, int flags) {
  if (look_pauses.exchange(0) != 0) {
    look_reached.release();
    EXPECT_TRUE(look_goes_on.try_acquire_for(std::chrono::seconds(20)));
  }
  return real->move_pages(pid, count, pages, nodes, status, flags);
}

class RoomTest : public ::testing::Test {
protected:
  void SetUp() override {
    before_ = &os();
    nodes_ = made_up_nodes::calls();
    real = &nodes_; // with the nodes
    calls_ = nodes_;
    calls_.open = open_made_up;
    calls_.read = read_made_up;
    calls_.close = close_made_up;
    calls_.move_pages = look;
    replace_os_calls(&calls_);
    free_bytes = {k_node_bytes, k_node_bytes};
    group_limit = 1024 * k_mib;
    rules_.reserve = 0;
    rules_.job_ledger = "/dev/shm/omptier-test-room-" + std::to_string(::getpid());
    ::unlink(rules_.job_ledger.c_str());
  }
  void TearDown() override {
    std::string why_not;
    EXPECT_TRUE(placer_->is_sound(why_not)) << why_not;
    other_.reset();
    placer_.reset();
    replace_os_calls(before_);
    real = nullptr;
    ::unlink(rules_.job_ledger.c_str());
  }
  // HBM on node 1, DRAM on node 0.
  void use(std::size_t hbm_capacity = k_node_bytes) {
    rules_.capacity = only(MemoryKind::hbm, hbm_capacity);
    placer_ = std::make_unique<Placer>(dram_and_hbm(k_node_bytes), rules_);
    NodeBytes capacity;
    capacity.fill(JobLedger::k_no_limit);
    other_ = std::make_unique<JobLedger>(rules_.job_ledger.c_str(), capacity);
    other_->enter();
  }
  void* place(std::size_t tier, std::size_t bytes, bool required = false) {
    BlockRequest request;
    request.bytes = bytes;
    request.required = required;
    bool fresh = false;
    return placer_->place(tier, request, fresh, why_);
  }
  // What the job is told that this process still will touch, when somebody asks for room next.
  std::uint64_t told() {
    EXPECT_TRUE(placer_->has_room_on(k_dram, 0));
    return other_->coming_of_others();
  }
  std::uint64_t used(MemoryKind kind) { return placer_->ledger().used(kind); }
  std::unique_ptr<Placer> placer_;
  std::unique_ptr<JobLedger> other_; // another process of the job, as far as the file goes
  Refusal why_ = Refusal::none;

private:
  CapacityRules rules_;
  OsCalls nodes_{}, calls_{};
  const OsCalls* before_ = nullptr;
};

// The first block is promised still when it is there already, so that what is promised is counted
// anew for the second: of others' blocks.
TEST_F(RoomTest, ABlockIsNotInItsOwnWay) {
  use();
  void* first = place(k_hbm, 6 * k_mib);
  ASSERT_NE(first, nullptr) << describe(why_);
  EXPECT_EQ(told(), 6 * k_mib);
  std::memset(first, 1, 6 * k_mib);
  free_bytes[1] = k_node_bytes - 7 * k_mib; // and one is somebody else's
  void* second = place(k_hbm, 6 * k_mib);
  ASSERT_NE(second, nullptr) << describe(why_);
  EXPECT_EQ(told(), 6 * k_mib) << "the second, once";
  EXPECT_EQ(place(k_hbm, 4 * k_mib), nullptr) << "three are left";
  EXPECT_EQ(why_, Refusal::node_full);
  EXPECT_TRUE(placer_->release(first));
  EXPECT_TRUE(placer_->release(second));
}

// What a fresh block needs is asked for once, by the ledger; one from the cache needs nothing.
TEST_F(RoomTest, ALargeBlockReadsTheGroupsFilesOnce) {
  group_limit = 24 * k_mib;
  use();
  for (const bool required : {true, false}) {
    const int before = group_reads;
    for (int round = 0; round < 2; ++round) {
      void* block = place(k_hbm, 6 * k_mib, required);
      ASSERT_NE(block, nullptr) << describe(why_);
      EXPECT_EQ(group_reads, before + 1) << "required " << required << ", round " << round;
      EXPECT_TRUE(placer_->release(block));
    }
    placer_->give_back_unused();
  }
}

TEST_F(RoomTest, ABlockInAnotherThreadsHandIsCountedWhenItIsHandedOut) {
  use();
  look_pauses = 1;
  void* block = nullptr;
  std::thread maker([&] { block = place(k_hbm, 6 * k_mib, true); });
  ASSERT_TRUE(look_reached.try_acquire_for(std::chrono::seconds(20)));
  EXPECT_EQ(placer_->room_on(k_hbm), 10 * k_mib) << "it is on its way";
  look_goes_on.release();
  maker.join();
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(told(), 0u) << "all of it is there";
  EXPECT_TRUE(placer_->release(block));
}

TEST_F(RoomTest, ABlockHandedOutWhileOthersAreCountedIsPromised) {
  use();
  void* other = place(k_hbm, 4 * k_mib);
  ASSERT_NE(other, nullptr);
  waits = 1;
  void* block = nullptr;
  std::thread maker([&] { block = place(k_hbm, 6 * k_mib); });
  ASSERT_TRUE(asked.try_acquire_for(std::chrono::seconds(20)));
  look_pauses = 1;
  std::thread counter([&] { placer_->room_on(k_hbm); });
  ASSERT_TRUE(look_reached.try_acquire_for(std::chrono::seconds(20)));
  answer.release();
  maker.join();
  look_goes_on.release();
  counter.join();
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(told(), 10 * k_mib);
  EXPECT_TRUE(placer_->release(block));
  EXPECT_TRUE(placer_->release(other));
  EXPECT_EQ(told(), 0u);
}

TEST_F(RoomTest, AFreedBlockTakesBackNoMoreThanIsPromisedOfIt) {
  use();
  void* first = place(k_hbm, 6 * k_mib);
  void* second = place(k_hbm, 4 * k_mib);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  std::memset(first, 1, 4 * k_mib);
  placer_->room_on(k_hbm); // counts
  EXPECT_EQ(told(), 6 * k_mib);
  EXPECT_TRUE(placer_->release(first));
  EXPECT_EQ(told(), 4 * k_mib);
  EXPECT_TRUE(placer_->release(second));
}

TEST_F(RoomTest, AChildGivesBackWhatOtherThreadsHadInHand) {
  group_limit = 24 * k_mib;
  use(12 * k_mib);
  look_pauses = 1;
  void* block = nullptr;
  std::thread maker([&] { block = place(k_hbm, 8 * k_mib, true); });
  ASSERT_TRUE(look_reached.try_acquire_for(std::chrono::seconds(20)));
  placer_->lock_all();
  const pid_t child = ::fork();
  if (child == 0) {
    placer_->forget_other_threads();
    placer_->unlock_all();
    std::string why_not;
    int wrong = used(MemoryKind::hbm) != 0 ? 1 : 0;
    wrong |= placer_->is_sound(why_not) ? 0 : 2;
    void* in_dram = place(k_dram, 8 * k_mib); // against the group's limit alone
    wrong |= in_dram != nullptr && placer_->release(in_dram) ? 0 : 4;
    void* in_hbm = place(k_hbm, 8 * k_mib);
    wrong |= in_hbm != nullptr && placer_->release(in_hbm) ? 0 : 8;
    ::_exit(wrong);
  }
  placer_->unlock_all();
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  look_goes_on.release();
  maker.join();
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(used(MemoryKind::hbm), 8 * k_mib);
  EXPECT_TRUE(placer_->release(block));
}

} // namespace
