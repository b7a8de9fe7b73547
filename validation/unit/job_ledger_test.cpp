// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ledger that the processes of a job share: several in one process (each has an open file of
// its own, which is what the kernel tells them apart by), forked ones, killed ones, and files made
// to break it.
#include "base/os.hpp"
#include "job_nodes.hpp"
#include "placement/job_ledger.hpp"
#include "real_calls.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <random>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace omptier;

namespace {

class JobLedgerTest : public ::testing::Test {
protected:
  void SetUp() override {
    path_ = "/dev/shm/omptier-test-" + std::to_string(::getpid());
    ::unlink(path_.c_str());
    capacity_.fill(k_cap);
  }
  void TearDown() override {
    replace_os_calls(nullptr);
    ::unlink(path_.c_str());
  }
  std::unique_ptr<JobLedger> join() {
    auto ledger = std::make_unique<JobLedger>(path_.c_str(), capacity_);
    ledger->enter();
    return ledger;
  }
  bool exists() const { return ::access(path_.c_str(), F_OK) == 0; }
  // A process that asks for bytes, tells over a pipe whether it got them, and waits to be ended.
  pid_t holder(std::uint64_t bytes) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      JobLedger* ledger = join().release();
      const char granted = ledger->reserve(nodes({0}), bytes) ? 'y' : 'n';
      if (::write(ends[1], &granted, 1) == 1)
        while (true)
          ::pause();
      ::_exit(1);
    }
    ::close(ends[1]);
    char granted = 0;
    EXPECT_EQ(::read(ends[0], &granted, 1), 1);
    ::close(ends[0]);
    EXPECT_EQ(granted, 'y');
    return child;
  }
  static void end(pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  void expect_alone(const std::string& why) {
    auto ledger = join();
    EXPECT_TRUE(ledger->reserve(nodes({0}), 2 * k_cap)) << "counts alone, so it does not refuse";
    EXPECT_FALSE(ledger->active());
    EXPECT_EQ(ledger->why_alone(), why);
    ledger->give_back(nodes({0}), 2 * k_cap);
  }
  std::string path_;
  NodeBytes capacity_;
};

TEST_F(JobLedgerTest, ProcessesShareANodeAndTheFileGoesWithTheLast) {
  auto one = join();
  auto two = join();
  EXPECT_TRUE(one->reserve(nodes({0}), 600'000));
  EXPECT_TRUE(exists());
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_FALSE(two->reserve(nodes({0}), 400'001));
  EXPECT_TRUE(two->reserve(nodes({0}), 400'000));
  EXPECT_TRUE(two->reserve(nodes({1}), k_cap)) << "another node is another matter";
  EXPECT_EQ(one->granted(0), k_cap);
  EXPECT_EQ(one->own(0), 600'000u);
  EXPECT_EQ(one->processes(), 2u);
  one->give_back(nodes({0}), 600'000);
  EXPECT_TRUE(two->reserve(nodes({0}), 600'000));
  one->leave();
  EXPECT_TRUE(exists());
  EXPECT_TRUE(one->reserve(nodes({0}), 5)) << "who left counts alone";
  two->leave();
  EXPECT_FALSE(exists());
}

TEST_F(JobLedgerTest, ASetOfNodesIsFilledNodeByNodeAndGivenBackAsOne) {
  auto one = join();
  auto two = join();
  EXPECT_TRUE(one->reserve(nodes({0}), 700'000));
  EXPECT_TRUE(two->reserve(nodes({0, 1}), 1'200'000));
  EXPECT_EQ(one->granted(0), k_cap);
  EXPECT_EQ(one->granted(1), 900'000u);
  EXPECT_FALSE(one->reserve(nodes({0, 1}), 100'001));
  one->give_back(nodes({0}), 700'000);
  two->give_back(nodes({0, 1}), 1'200'000);
  EXPECT_EQ(one->granted(0), 0u);
  EXPECT_EQ(one->granted(1), 0u);
}

TEST_F(JobLedgerTest, AKilledProcessStopsCounting) {
  auto ledger = join();
  ASSERT_TRUE(ledger->reserve(nodes({0}), 1));
  const pid_t child = holder(k_cap - 1);
  EXPECT_FALSE(ledger->reserve(nodes({0}), 1));
  end(child);
  ::usleep(2000); // dead slots are looked for once a millisecond
  EXPECT_TRUE(ledger->reserve(nodes({0}), k_cap - 1));
  EXPECT_EQ(ledger->processes(), 1u);
}

TEST_F(JobLedgerTest, TheNextProcessOfTheJobTakesOverAStaleFile) {
  end(holder(k_cap));
  EXPECT_TRUE(exists());
  auto ledger = join();
  EXPECT_TRUE(ledger->reserve(nodes({0}), k_cap));
  EXPECT_EQ(ledger->processes(), 1u);
  ledger->leave();
  EXPECT_FALSE(exists());
}

TEST_F(JobLedgerTest, WhatOtherJobsLeftBehindIsRemoved) {
  const std::string own = path_;
  path_ = own + "-killed";
  end(holder(1));
  EXPECT_TRUE(exists());
  path_ = own + "-alive";
  const pid_t child = holder(1);
  EXPECT_GE(remove_stale_job_ledgers(own.c_str()), 1u);
  EXPECT_TRUE(exists()) << "somebody lives there";
  end(child);
  EXPECT_GE(remove_stale_job_ledgers(own.c_str()), 1u);
  EXPECT_FALSE(exists());
  EXPECT_NE(::access((own + "-killed").c_str(), F_OK), 0);
  path_ = own;
}

TEST_F(JobLedgerTest, ClosingAllDescriptorsKeepsTheSlot) {
  const pid_t child = ::fork();
  if (child == 0) {
    JobLedger* ledger = join().release();
    const bool granted = ledger->reserve(nodes({0}), k_cap);
    for (int fd = 3; fd < 1024; ++fd)
      ::close(fd);
    if (granted) ::raise(SIGSTOP);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, WUNTRACED);
  auto ledger = join();
  EXPECT_FALSE(ledger->reserve(nodes({0}), 1));
  EXPECT_EQ(ledger->reclaim_slots(), 0u);
  end(child);
  EXPECT_EQ(ledger->reclaim_slots(), 1u);
  EXPECT_TRUE(ledger->reserve(nodes({0}), k_cap));
}

// The file as somebody may change it.
class MappedFile {
public:
  explicit MappedFile(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDWR);
    file_ = static_cast<JobFile*>(
        ::mmap(nullptr, sizeof(JobFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ::close(fd);
    EXPECT_NE(file_, MAP_FAILED);
  }
  ~MappedFile() { ::munmap(file_, sizeof(JobFile)); }
  JobFile* operator->() { return file_; }

private:
  JobFile* file_;
};

// Numbers of another pid namespace judge nobody.
TEST_F(JobLedgerTest, AProcessOfAnotherNamespaceIsGoneWithItsLock) {
  auto ledger = join();
  ASSERT_TRUE(ledger->reserve(nodes({0}), 1));
  const pid_t child = holder(1);
  MappedFile file(path_);
  JobSlot& slot = file->slots[1];
  EXPECT_EQ(slot.pid.load(), static_cast<std::uint64_t>(child));
  EXPECT_NE(slot.start_time.load(), 0u);
  EXPECT_EQ(slot.pid_namespace.load(), file->slots[0].pid_namespace.load());
  EXPECT_EQ(ledger->reclaim_slots(), 0u);
  slot.pid_namespace = 1;
  slot.pid = 999'999'999; // nobody here
  EXPECT_EQ(ledger->reclaim_slots(), 0u) << "its process lives";
  slot.pid = static_cast<std::uint64_t>(::getpid()); // somebody here, who started earlier
  EXPECT_EQ(ledger->reclaim_slots(), 0u) << "its process lives";
  end(child);
  EXPECT_EQ(ledger->reclaim_slots(), 1u);
  EXPECT_EQ(ledger->granted(0), 1u);
}

// A child forked past the handlers keeps the lock of its parent's slot when the parent is gone.
TEST_F(JobLedgerTest, ALockThatOutlivesItsProcessHoldsNothing) {
  auto ledger = join();
  ASSERT_TRUE(ledger->reserve(nodes({0}), 1));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    JobLedger* own = join().release();
    const pid_t child = own->reserve(nodes({0}), k_cap - 1) ? ::fork() : -1;
    if (child > 0 && ::write(ends[1], &child, sizeof child) != sizeof child) ::_exit(1);
    while (true)
      ::pause();
  }
  pid_t child = 0;
  ASSERT_EQ(::read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  EXPECT_EQ(ledger->reclaim_slots(), 0u);
  end(parent);
  EXPECT_EQ(ledger->reclaim_slots(), 1u) << "no process has its number";
  EXPECT_TRUE(ledger->reserve(nodes({0}), k_cap - 1));
  ledger->give_back(nodes({0}), k_cap - 1);

  MappedFile file(path_);
  JobSlot& slot = file->slots[1];
  slot.granted[0] = k_cap - 1;
  slot.pid_namespace = file->slots[0].pid_namespace.load();
  slot.start_time = file->slots[0].start_time.load();
  slot.pid = static_cast<std::uint64_t>(::getpid());
  EXPECT_EQ(ledger->reclaim_slots(), 0u) << "a process of that number and start";
  slot.start_time = slot.start_time - 1; // the number was used again
  EXPECT_EQ(ledger->reclaim_slots(), 1u);
  EXPECT_EQ(ledger->granted(0), 1u);
  ::kill(child, SIGKILL); // init's by now
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(JobLedgerTest, AForkedChildHasASlotOfItsOwn) {
  auto ledger = join();
  ASSERT_TRUE(ledger->reserve(nodes({0}), 100));
  const pid_t child = ::fork();
  if (child == 0) {
    ledger->forget_parent(); // as the runtime does after fork
    ledger->enter();
    bool fine = ledger->reserve(nodes({0}), 10) && ledger->processes() == 2 &&
                ledger->own(0) == 10 && ledger->granted(0) == 110;
    ledger->give_back(nodes({0}), 100); // what it inherited
    fine = fine && ledger->granted(0) == 110;
    ledger->give_back(nodes({0}), 10);
    fine = fine && ledger->granted(0) == 100 && ledger->own(0) == 0;
    ledger->leave();
    ::_exit(fine ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(exists());
  EXPECT_EQ(ledger->processes(), 1u);
  EXPECT_EQ(ledger->granted(0), 100u);
}

int without_wiped_pages(void* at, std::size_t bytes, int advice) {
  if (advice != MADV_WIPEONFORK) return ::madvise(at, bytes, advice);
  return errno = EINVAL, -1;
}

// A child that fork's handlers never hear of has all that its parent has, but the slot is not its
// own.
TEST_F(JobLedgerTest, AClonedChildChangesNothingOfItsParent) {
  const auto in_clone = [](auto&& run) {
    const auto child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    if (child == 0) ::_exit(run() ? 0 : 1);
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  };
  OsCalls old_kernel = os();
  old_kernel.advise = without_wiped_pages;
  for (const OsCalls* calls : {static_cast<const OsCalls*>(nullptr), &std::as_const(old_kernel)}) {
    replace_os_calls(calls);
    auto ledger = join();
    ASSERT_TRUE(ledger->reserve(nodes({0}), 100));
    ledger->publish_coming(100);
    MappedFile file(path_);
    in_clone([&] {
      ledger->give_back(nodes({0}), 100);
      return !ledger->active() && ledger->reserve(nodes({0}), 2 * k_cap);
    });
    in_clone([&] { return ledger->reserve(nodes({0}), 2 * k_cap) && ledger->own(0) == 0; });
    in_clone([&] { return ledger->publish_coming(7), !ledger->active(); });
    in_clone([&] { return ledger->leave(), true; });
    EXPECT_TRUE(ledger->active());
    EXPECT_EQ(ledger->processes(), 1u);
    EXPECT_EQ(ledger->granted(0), 100u);
    EXPECT_EQ(file->slots[0].coming.load(), 100u);
    ledger->give_back(nodes({0}), 100);
    EXPECT_EQ(ledger->granted(0), 0u);
    EXPECT_TRUE(exists());
  }
}

// The mark of its process comes back in a child that has a slot of its own, and not in its clone.
TEST_F(JobLedgerTest, AForkedChildsCloneChangesNothingEither) {
  auto ledger = join();
  ASSERT_TRUE(ledger->reserve(nodes({0}), 100));
  const pid_t child = ::fork();
  if (child == 0) {
    ledger->forget_parent();
    ledger->enter();
    bool fine = ledger->reserve(nodes({0}), 10);
    const auto clone = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    if (clone == 0) ledger->give_back(nodes({0}), 10), ::_exit(0);
    ::waitpid(clone, nullptr, 0);
    fine = fine && ledger->granted(0) == 110 && ledger->own(0) == 10;
    ledger->leave();
    ::_exit(fine ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ledger->granted(0), 100u);
}

// Eight processes take pieces until they are refused: the capacity to the byte, no more and no
// less.
TEST_F(JobLedgerTest, ARaceEndsExactlyAtTheCapacity) {
  constexpr std::uint64_t k_piece = 100;
  auto* taken = static_cast<std::atomic<std::uint64_t>*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    JobLedger* ledger = join().release();
    while (ledger->reserve(nodes({0}), k_piece))
      taken->fetch_add(k_piece);
    ::raise(SIGSTOP); // what it holds stays held
    ::_exit(0);
  }
  for (const pid_t child : children)
    ::waitpid(child, nullptr, WUNTRACED);
  EXPECT_EQ(taken->load(), k_cap);
  for (const pid_t child : children)
    end(child);
  ::munmap(taken, 4096);
}

// The slots are read one after the other while others write, and a request that is called off counts
// until its process, which may have lost the processor, withdraws it. What is granted too much does
// so longer.
std::uint64_t granted_at_least(JobLedger& ledger, unsigned node, std::uint64_t at_most) {
  std::uint64_t least = ledger.granted(node);
  for (int i = 0; i < 50 && least > at_most; ++i) {
    ::usleep(1000);
    least = std::min(least, ledger.granted(node));
  }
  return least;
}

// Killed wherever they are, in the middle of a request too.
TEST_F(JobLedgerTest, KilledAtRandomNothingIsLostOrHeldForEver) {
  auto ledger = join();
  ASSERT_TRUE(ledger->reserve(nodes({0}), 1000));
  std::mt19937 random(7);
  std::vector<pid_t> children(8);
  const auto start = [&](unsigned seed) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    ledger->forget_parent();
    ledger->enter();
    std::mt19937 own(seed);
    std::vector<std::uint64_t> held;
    while (true) {
      if (held.size() > 20 || (!held.empty() && own() % 3 == 0)) {
        ledger->give_back(nodes({0, 1}), held.back());
        held.pop_back();
      } else if (const std::uint64_t bytes = 1 + own() % 200'000;
                 ledger->reserve(nodes({0, 1}), bytes)) {
        held.push_back(bytes);
      }
    }
  };
  for (std::size_t i = 0; i < children.size(); ++i)
    children[i] = start(static_cast<unsigned>(i));
  unsigned kills = 0;
  for (; kills < 120; ++kills) {
    ::usleep(static_cast<useconds_t>(random() % 8000));
    EXPECT_LE(granted_at_least(*ledger, 0, k_cap), k_cap);
    EXPECT_LE(granted_at_least(*ledger, 1, k_cap), k_cap);
    const std::size_t victim = random() % children.size();
    end(children[victim]);
    children[victim] = start(100 + kills);
  }
  for (const pid_t child : children)
    end(child);
  ::usleep(2000);
  EXPECT_TRUE(ledger->reserve(nodes({0, 1}), 2 * k_cap - 1000)) << "all that the dead held is free";
  EXPECT_EQ(ledger->processes(), 1u);
  std::printf("%u processes killed\n", kills + 8);
}

TEST_F(JobLedgerTest, FilesThatAreNotOursAreLeftAlone) {
  const std::string content = "somebody else's notes, more than a header of them: ..............\n";
  std::ofstream(path_) << content;
  ::chmod(path_.c_str(), 0600);
  expect_alone("it is no ledger of a job");
  std::string kept(content.size(), ' ');
  std::ifstream(path_).read(kept.data(), static_cast<std::streamsize>(kept.size()));
  EXPECT_EQ(kept, content);

  ::chmod(path_.c_str(), 0620);
  expect_alone("others may read or write it");
  ::unlink(path_.c_str());

  ASSERT_EQ(::symlink("/dev/null", path_.c_str()), 0);
  expect_alone(std::strerror(ELOOP));
  ::unlink(path_.c_str());
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  expect_alone(std::strerror(EISDIR));
  ::rmdir(path_.c_str());

  path_ = "/dev/shm/no-such-folder/ledger";
  expect_alone(std::strerror(ENOENT));
}

int owned_by_another(int fd, struct stat* status) {
  const int result = ::fstat(fd, status);
  status->st_uid += 1;
  return result;
}

TEST_F(JobLedgerTest, AnotherUsersFileIsLeftAlone) {
  OsCalls calls = os();
  calls.file_status = owned_by_another;
  replace_os_calls(&calls);
  expect_alone("it belongs to another user");
}

TEST_F(JobLedgerTest, DamagedFilesAreMadeAnewOnceNobodyUsesThem) {
  const auto damage = [&](auto&& change) {
    const int fd = ::open(path_.c_str(), O_RDWR);
    auto* file = static_cast<JobFile*>(
        ::mmap(nullptr, sizeof(JobFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    change(*file, fd);
    ::munmap(file, sizeof(JobFile));
    ::close(fd);
  };
  const pid_t child = holder(k_cap);
  damage([](JobFile& file, int) { file.header.version = k_job_version + 1; });
  expect_alone("it is of another version, or damaged");
  damage([](JobFile& file, int) { file.header.version = k_job_version, file.header.nodes ^= 1; });
  expect_alone("it is of another version, or damaged");
  end(child);
  for (int way = 0; way <= 5; ++way) {
    auto ledger = join();
    auto another = join();
    EXPECT_TRUE(ledger->reserve(nodes({0}), k_cap)) << way;
    EXPECT_FALSE(another->reserve(nodes({0}), 1)) << way;
    EXPECT_TRUE(ledger->active() && another->active()) << way << ": " << another->why_alone();
    ledger.reset();
    another.reset();
    EXPECT_FALSE(exists());
    if (way == 5) break;
    end(holder(7));
    damage([way](JobFile& file, int fd) {
      if (way == 0) file.header.magic = 0; // its maker was killed
      if (way == 1) file.header.slots = 3;
      if (way == 2) file.header.slots_seen = ~std::uint64_t{0}, file.slots[9].pid = 1;
      if (way == 2) file.slots[9].granted[0] = ~std::uint64_t{0};
      if (way == 3) {
        EXPECT_EQ(::ftruncate(fd, sizeof(JobFile) + 1), 0);
      }
      if (way == 4) {
        EXPECT_EQ(::ftruncate(fd, sizeof(JobFileHeader)), 0);
      }
    });
  }
}

TEST_F(JobLedgerTest, AFullFileIsLeftToTheOthers) {
  const pid_t child = holder(1);
  const int fd = ::open(path_.c_str(), O_RDWR);
  struct flock range{};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = 2;
  range.l_len = k_job_slots - 1;
  ASSERT_EQ(::fcntl(fd, F_OFD_SETLK, &range), 0);
  expect_alone("all of its slots are taken");
  ::close(fd);
  auto ledger = join();
  EXPECT_TRUE(ledger->reserve(nodes({0}), 1));
  EXPECT_TRUE(ledger->active());
  end(child);
}

// Every call fails in turn: alone or with the others, never stuck, never wrong.
long countdown = -1, calls = 0;
bool fails_now(int error) {
  if (calls++ != countdown) return false;
  errno = error;
  return true;
}
int f_open(const char* p, int f, unsigned m) {
  return fails_now(EROFS) ? -1 : real->open(p, f, m);
}
ssize_t f_read(int fd, void* d, std::size_t b) {
  return fails_now(EIO) ? -1 : real->read(fd, d, b);
}
void* f_map(void* a, std::size_t b, int p, int f, int d, off_t o) {
  return fails_now(ENOMEM) ? MAP_FAILED : real->map(a, b, p, f, d, o);
}
int f_size(int fd, off_t b) {
  return fails_now(EIO) ? -1 : real->set_file_size(fd, b);
}
int f_allocate(int fd, off_t b) {
  return fails_now(ENOSPC) ? -1 : real->allocate_file(fd, b);
}
int f_status(int fd, struct stat* s) {
  return fails_now(EIO) ? -1 : real->file_status(fd, s);
}
int f_lock(int fd, int c, struct flock* r) {
  return fails_now(EINVAL) ? -1 : real->lock_file(fd, c, r);
}
int f_unlink(const char* p) {
  return fails_now(EACCES) ? -1 : real->unlink(p);
}

TEST_F(JobLedgerTest, EveryCallFailsInTurn) {
  real = &os();
  OsCalls faulty = *real;
  faulty.open = f_open;
  faulty.read = f_read;
  faulty.map = f_map;
  faulty.set_file_size = f_size;
  faulty.allocate_file = f_allocate;
  faulty.file_status = f_status;
  faulty.lock_file = f_lock;
  faulty.unlink = f_unlink;
  replace_os_calls(&faulty);
  const auto script = [&] {
    auto one = join();
    auto two = join();
    EXPECT_TRUE(one->reserve(nodes({0}), 600'000));
    const bool both = two->reserve(nodes({0}), 600'000);
    EXPECT_TRUE(!both || !one->active() || !two->active()) << "call " << countdown;
    EXPECT_TRUE(two->reserve(nodes({0}), 300'000)) << "call " << countdown;
    one->give_back(nodes({0}), 600'000);
    two->give_back(nodes({0}), 300'000 + (both ? 600'000 : 0));
    EXPECT_EQ(one->own(0), 0u);
    EXPECT_EQ(two->own(0), 0u);
    two->leave();
    one->leave();
  };
  countdown = -1;
  calls = 0;
  script();
  EXPECT_FALSE(exists());
  const long all = calls;
  for (long point = 0; point < all; ++point) {
    calls = 0;
    countdown = point;
    script();
    countdown = -1;
    join(); // what a failure left behind is taken over, and removed
    EXPECT_FALSE(exists()) << "call " << point;
  }
  EXPECT_GT(all, 15);
  std::printf("%ld calls, each failed once\n", all);
}

} // namespace
