// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nobody waits for another process of the job, or holds a lock while something is waited for: a
// process that was stopped or killed in the middle of a request, one that has the file locked, and
// a thread that the kernel prefers to the one that has the lock.
#include "base/os.hpp"
#include "job_nodes.hpp"
#include "placement/job_ledger.hpp"
#include "placement/placer.hpp"
#include "real_calls.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace omptier;

namespace {

std::atomic<bool> file_is_locked{false}; // by another process, as far as byte 0 goes
std::atomic<bool> patient{false};        // who tries to lock it waits as long as that lasts
std::atomic<int> tries{0};

int lock_file(int fd, int command, struct flock* range) {
  if (!file_is_locked || range->l_start != 0 || range->l_type != F_WRLCK)
    return real->lock_file(fd, command, range);
  ++tries;
  for (int i = 0; i < 20'000 && patient && file_is_locked; ++i)
    ::usleep(1000);
  return errno = EAGAIN, -1;
}

class JobWaitsTest : public ::testing::Test {
protected:
  void SetUp() override {
    path_ = "/dev/shm/omptier-test-waits-" + std::to_string(::getpid());
    ::unlink(path_.c_str());
    NodeBytes capacity;
    capacity.fill(k_cap);
    real = &os();
    calls_ = *real;
    calls_.lock_file = lock_file;
    replace_os_calls(&calls_);
    tries = 0;
    ledger_ = std::make_unique<JobLedger>(path_.c_str(), capacity);
  }
  void TearDown() override {
    file_is_locked = patient = false;
    ledger_.reset();
    replace_os_calls(nullptr);
    ::unlink(path_.c_str());
  }
  static void until_tried() {
    while (tries == 0)
      std::this_thread::yield();
  }
  std::string path_;
  const NodeSet node_ = nodes({0});
  std::unique_ptr<JobLedger> ledger_;
  OsCalls calls_{};
};

TEST_F(JobWaitsTest, TheRequestOfAStoppedProcessIsCalledOff) {
  ledger_->enter();
  ASSERT_TRUE(ledger_->reserve(node_, 1));
  const pid_t child = ::fork();
  if (child == 0) {
    ledger_->forget_parent();
    ledger_->enter();
    if (ledger_->reserve(node_, 1)) ::raise(SIGSTOP);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  const int fd = ::open(path_.c_str(), O_RDWR);
  auto* file = static_cast<JobFile*>(
      ::mmap(nullptr, sizeof(JobFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  ASSERT_NE(file, MAP_FAILED);
  std::uint64_t fastest = ~std::uint64_t{0};
  for (int i = 0; i < 20; ++i) {
    file->slots[1].asking_nodes = 1;
    file->slots[1].asking_bytes = k_cap / 2;
    const std::uint64_t begin = monotonic_nanoseconds();
    EXPECT_TRUE(ledger_->reserve(node_, k_cap - 2));
    fastest = std::min(fastest, monotonic_nanoseconds() - begin);
    EXPECT_EQ(file->slots[1].asking_bytes, 0u);
    ledger_->give_back(node_, k_cap - 2);
  }
  EXPECT_LT(fastest, 5'000'000u) << "ns";
  EXPECT_FALSE(ledger_->reserve(node_, k_cap - 1)) << "what it holds, it holds";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::munmap(file, sizeof(JobFile));
  ::close(fd);
}

TEST_F(JobWaitsTest, OthersCountAloneWhileOneWaitsForTheFile) {
  file_is_locked = patient = true;
  std::atomic<bool> entered{false};
  std::thread first([&] {
    ledger_->enter();
    EXPECT_TRUE(ledger_->reserve(node_, 600));
    entered = true;
  });
  until_tried();
  EXPECT_TRUE(ledger_->reserve(node_, 500));
  ledger_->give_back(node_, 100);
  ledger_->publish_coming(7);
  EXPECT_EQ(ledger_->processes(), 0u);
  EXPECT_FALSE(entered);
  file_is_locked = false;
  first.join();
  EXPECT_TRUE(ledger_->active());
  EXPECT_EQ(ledger_->granted(0), 1000u) << "what was counted meanwhile is told";
  ledger_->give_back(node_, 1000);
  EXPECT_EQ(ledger_->own(0), 0u);
}

TEST_F(JobWaitsTest, AThreadIsNotCancelledWhileItWaitsForTheFile) {
  file_is_locked = true;
  pthread_t thread{};
  const auto enter = [](void* ledger) -> void* {
    ::pthread_cancel(::pthread_self());
    static_cast<JobLedger*>(ledger)->enter();
    file_is_locked = true; // tells that it came here
    ::pthread_testcancel();
    return nullptr;
  };
  ASSERT_EQ(::pthread_create(&thread, nullptr, enter, ledger_.get()), 0);
  while (tries < 3)
    std::this_thread::yield();
  file_is_locked = false;
  void* result = nullptr;
  ::pthread_join(thread, &result);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_TRUE(file_is_locked);
  EXPECT_TRUE(ledger_->active());
}

TEST_F(JobWaitsTest, TheDeadAreLookedForWithoutWaiting) {
  ledger_->enter();
  ASSERT_TRUE(ledger_->reserve(node_, 1));
  file_is_locked = true;
  EXPECT_FALSE(ledger_->reserve(node_, k_cap));
  EXPECT_LE(tries, 1);
}

TEST_F(JobWaitsTest, BlocksComeAndGoWhileOneThreadWaitsForTheFile) {
  auto platform = discover_platform({});
  ASSERT_TRUE(platform);
  CapacityRules rules;
  rules.job_ledger = path_;
  Placer placer(*platform, rules);
  const auto come_and_go = [&] {
    bool fresh = false;
    Refusal why = Refusal::none;
    BlockRequest request;
    request.bytes = 1 << 20;
    void* block = placer.place(0, request, fresh, why);
    return block != nullptr && placer.release(block);
  };
  file_is_locked = patient = true;
  std::atomic<bool> entered{false};
  std::thread first([&] {
    EXPECT_TRUE(come_and_go());
    entered = true;
  });
  until_tried();
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(come_and_go());
  EXPECT_FALSE(entered) << "they waited for it";
  file_is_locked = false;
  first.join();
}

// Requests are made with locks held.
TEST_F(JobWaitsTest, ARequestDoesNotOpenTheFile) {
  file_is_locked = true;
  EXPECT_TRUE(ledger_->reserve(node_, 600));
  EXPECT_EQ(tries, 0);
  file_is_locked = false;
  ledger_->enter();
  EXPECT_TRUE(ledger_->active());
  EXPECT_EQ(ledger_->granted(0), 600u) << "what was counted meanwhile is told";
  ledger_->give_back(node_, 600);
}

// With as many holes as may cost mappings, one that is freed stays charged: its space, which is
// locked, asks the ledger. In the child nobody has opened that yet.
TEST_F(JobWaitsTest, AChildThatFreesFirstDoesNotWaitForTheFile) {
  constexpr std::size_t k_bytes = 270'336, k_holes = 4100;
  auto platform = discover_platform({});
  ASSERT_TRUE(platform);
  calls_.open = [](const char* path, int flags, unsigned mode) { // nobody knows what is free
    if (std::strstr(path, "meminfo") != nullptr) return errno = ENOENT, -1;
    return real->open(path, flags, mode);
  };
  CapacityRules rules;
  rules.job_ledger = path_;
  Placer placer(*platform, rules, 0);
  std::vector<void*> blocks(2 * k_holes);
  for (void*& block : blocks) {
    bool fresh = false;
    Refusal why = Refusal::none;
    BlockRequest request;
    request.bytes = k_bytes;
    ASSERT_NE(block = placer.place(0, request, fresh, why), nullptr) << describe(why);
  }
  for (std::size_t i = 0; i < k_holes - 1; ++i)
    EXPECT_TRUE(placer.release(blocks[2 * i]));
  const std::size_t open = placer.cached_bytes(placer.kind_of_tier(0));
  EXPECT_GT(open, 0u) << "no hole stays charged";
  placer.lock_all();
  const pid_t child = ::fork();
  if (child == 0) {
    placer.forget_other_threads();
    placer.unlock_all();
    file_is_locked = true;
    const bool freed = placer.release(blocks[2 * k_holes - 2]) &&
                       placer.cached_bytes(placer.kind_of_tier(0)) > open;
    ::_exit(!freed ? 1 : tries != 0 ? 2 : 0);
  }
  placer.unlock_all();
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  for (std::size_t i = 0; i < k_holes; ++i) {
    EXPECT_TRUE(placer.release(blocks[2 * i + 1]));
    EXPECT_EQ(placer.release(blocks[2 * i]), i == k_holes - 1);
  }
}

// On one processor, where a thread in a loop would never let the one that has the lock run.
TEST_F(JobWaitsTest, AThreadThatIsPreferredGetsTheLock) {
  const sched_param highest{10};
  const auto here = [](int policy, const sched_param& parameters) {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    return ::sched_setaffinity(0, sizeof first, &first) == 0 &&
           ::sched_setscheduler(0, policy, &parameters) == 0;
  };
  ledger_->enter();
  ASSERT_TRUE(ledger_->reserve(node_, 1));
  std::atomic<bool> stop{false}, permitted{true};
  std::thread low([&] {
    permitted = here(SCHED_OTHER, {0}) && permitted;
    while (!stop && ledger_->reserve(node_, 1))
      ledger_->give_back(node_, 1);
  });
  std::uint64_t longest = 0;
  std::thread high([&] {
    if (!here(SCHED_FIFO, highest)) permitted = false;
    for (int i = 0; i < 500 && permitted; ++i) {
      const timespec pause{0, 100'000};
      ::nanosleep(&pause, nullptr);
      const std::uint64_t begin = monotonic_nanoseconds();
      EXPECT_TRUE(ledger_->reserve(node_, 1));
      ledger_->give_back(node_, 1);
      longest = std::max(longest, monotonic_nanoseconds() - begin);
    }
    stop = true;
  });
  high.join();
  low.join();
  if (!permitted) GTEST_SKIP() << "this user may not have SCHED_FIFO on processor 0";
  std::printf("at most %.1f ms for the lock\n", static_cast<double>(longest) / 1e6);
  EXPECT_LT(longest, 700'000'000u) << "ns; the kernel takes the processor from it after 950 ms";
}

} // namespace
