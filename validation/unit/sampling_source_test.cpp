// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sources as a process meets them: refused, short of memory, robbed of their signal, forked.

#include "base/os.hpp"
#include "collected_samples.hpp"
#include "sampling/perf_ring.hpp"
#include "sampling/source.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace omptier;

unsigned open_files() {
  unsigned count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder))
    ++count;
  closedir(folder);
  return count;
}

double thread_cpu() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Keeps the processor busy with loads from memory for so long; false if errno changed meanwhile.
bool burn(double seconds) {
  static std::vector<std::uint64_t> memory(1 << 20, 1);
  volatile std::uint64_t sum = 0;
  std::uint64_t place = 1;
  errno = 12345;
  for (double end = thread_cpu() + seconds; thread_cpu() < end;)
    for (int i = 0; i < 10'000; ++i) {
      place = place * 6364136223846793005u + 1442695040888963407u;
      sum = sum + memory[(place >> 40) % memory.size()];
    }
  return errno == 12345;
}

// Keeps it busy until there are so many samples, 4 s at most; the seconds. Timers are looked at once
// a tick, and on a busy machine most ticks find other processes.
double burn_until(std::size_t samples, SampleSource& source, Collect& collect) {
  double burned = 0;
  for (; burned < 4 && collect.samples.size() < samples; burned += 0.05) {
    EXPECT_TRUE(burn(0.05)); // errno survives
    source.drain(collect);
  }
  return burned;
}

std::unique_ptr<SampleSource> open(const char* which, double rate = 250) {
  std::string why;
  auto source = open_sample_source({which, rate}, why);
  EXPECT_TRUE(source) << why;
  return source;
}

// Faults, put over the real calls.
OsCalls faults;
const OsCalls* real_calls = nullptr;
std::size_t allowed_ring = 0; // largest mapping of a perf ring that succeeds

class WithFaults : public testing::Test {
protected:
  void SetUp() override {
    faults = os();
    real_calls = replace_os_calls(&faults);
  }
  void TearDown() override { replace_os_calls(real_calls); }

  static void refuse_perf() {
    faults.perf_event_open = [](perf_event_attr*, pid_t, int, int, unsigned long) {
      errno = EACCES;
      return -1;
    };
  }
  static void limit_rings(std::size_t bytes) {
    allowed_ring = bytes;
    faults.map = [](void* address, std::size_t size, int protection, int flags, int fd, off_t at) {
      if (fd >= 0 && size > allowed_ring + page_size()) {
        errno = EPERM;
        return MAP_FAILED;
      }
      return real_calls->map(address, size, protection, flags, fd, at);
    };
  }
};

TEST_F(WithFaults, PerfRefusedGivesTimersAndSaysWhy) {
  refuse_perf();
  std::string why;
  auto source = open_sample_source({"auto", 100}, why);
  ASSERT_TRUE(source) << why;
  EXPECT_STREQ(source->name(), "timer");
  EXPECT_NE(why.find("perf refused"), std::string::npos) << why;
  EXPECT_NE(why.find("Permission denied"), std::string::npos) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos);
}

TEST_F(WithFaults, PerfAskedForByNameIsNotReplaced) {
  refuse_perf();
  std::string why;
  EXPECT_FALSE(open_sample_source({"perf", 100}, why));
  EXPECT_NE(why.find("no access samples: perf refused"), std::string::npos) << why;
}

TEST_F(WithFaults, ShortLockedMemoryShrinksTheRing) {
  unsigned before = open_files();
  limit_rings(2 * page_size());
  {
    PerfRing ring;
    ASSERT_EQ(ring.open(gettid(), cpu_clock_attributes(1'000'000), 64 << 10), 0);
    EXPECT_EQ(ring.ring_bytes(), 2 * page_size());
    burn(0.05);
    PerfRecords records;
    ring.drain(records);
    EXPECT_GE(records.samples.size(), 10u);
  }
  limit_rings(0);
  PerfRing none;
  EXPECT_EQ(none.open(gettid(), cpu_clock_attributes(1'000'000), 64 << 10), EPERM);
  EXPECT_EQ(open_files(), before);
}

TEST_F(WithFaults, ThreadsThatCannotBeWatchedHarmNobody) {
  auto source = open("perf");
  unsigned before = open_files();
  limit_rings(0);
  EXPECT_TRUE(source->thread_begin(gettid()));
  Collect collect;
  source->drain(collect); // one warning on stderr
  burn(0.02);
  source->drain(collect);
  source->thread_end(gettid());
  source->drain(collect);
  EXPECT_TRUE(collect.samples.empty());
  EXPECT_EQ(open_files(), before);
}

TEST(SamplingChoice, NamesAreChecked) {
  std::string why;
  EXPECT_FALSE(open_sample_source({"none", 100}, why));
  EXPECT_EQ(why, "access samples are switched off");
  EXPECT_FALSE(open_sample_source({"pebs", 100}, why));
  EXPECT_NE(why.find("'pebs'"), std::string::npos);
  EXPECT_FALSE(open_sample_source({"machine", 100}, why)); // no such device on a host
  EXPECT_NE(why.find("memory-event unit"), std::string::npos);
}

class EverySource : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Sampling, EverySource, testing::Values("perf", "timer"));

TEST_P(EverySource, SamplesABusyThread) {
  auto source = open(GetParam());
  std::uint64_t begin = monotonic_nanoseconds();
  ASSERT_TRUE(source->thread_begin(gettid()));
  Collect collect;
  source->drain(collect);
  const double burned = burn_until(40, *source, collect); // at 250 Hz
  source->thread_end(gettid());
  source->drain(collect);
  // Where ticks come late, weights make up for it.
  double seconds = 0;
  std::uint64_t end = monotonic_nanoseconds();
  for (const AccessSample& sample : collect.samples) {
    seconds += 1e-9 * static_cast<double>(sample.weight);
    EXPECT_EQ(sample.thread, static_cast<std::uint32_t>(gettid()));
    EXPECT_GE(sample.time, begin);
    EXPECT_LE(sample.time, end);
    EXPECT_NE(sample.pc, 0u);
  }
  EXPECT_GE(collect.samples.size(), 40u);
  EXPECT_NEAR(seconds, burned, 0.15);
  EXPECT_EQ(collect.dropped, 0u);
  std::size_t count = collect.samples.size();
  burn(0.05); // no longer watched
  source->drain(collect);
  EXPECT_EQ(collect.samples.size(), count);
}

// Half of them may end before the drain that would watch them.
TEST_P(EverySource, ManyThreadsComeAndGo) {
  auto source = open(GetParam(), 1000);
  unsigned before = open_files();
  Collect collect;
  std::atomic<bool> errno_kept = true;
  for (int round = 0; round < 5; ++round) {
    std::atomic<bool> drained = false;
    std::atomic<int> begun = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 40; ++i)
      threads.emplace_back([&, i] {
        if (!source->thread_begin(gettid())) errno_kept = false;
        ++begun;
        while (i % 2 != 0 && !drained)
          sched_yield();
        if (!burn(0.005)) errno_kept = false;
        if (i % 4) source->thread_end(gettid()); // some end without a word
      });
    while (begun < 40) // on one processor the others have not run yet
      sched_yield();
    source->drain(collect);
    drained = true;
    for (auto& thread : threads)
      thread.join();
    source->drain(collect);
  }
  EXPECT_TRUE(errno_kept);
  EXPECT_GT(collect.samples.size(), 0u);
  source.reset();
  EXPECT_LE(open_files(), before);
}

TEST_P(EverySource, ForkedChildStartsAnew) {
  auto source = open(GetParam());
  ASSERT_TRUE(source->thread_begin(gettid()));
  Collect collect;
  source->drain(collect);
  burn(0.05);
  unsigned before = open_files();
  pid_t child = fork();
  if (child == 0) {
    source->forked_child();
    bool closed = open_files() <= before;
    Collect own;
    source->drain(own);
    bool empty = own.samples.empty(); // the parent's samples are the parent's
    bool begun = source->thread_begin(gettid());
    source->drain(own);
    burn_until(1, *source, own);
    bool sampled = !own.samples.empty();
    for (const AccessSample& sample : own.samples)
      sampled = sampled && sample.thread == static_cast<std::uint32_t>(gettid());
    _exit(closed && empty && begun && sampled ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  collect.samples.clear();
  burn_until(1, *source, collect);
  EXPECT_FALSE(collect.samples.empty()); // the parent goes on
}

TEST_P(EverySource, ProgramsAreStartedUnharmed) {
  auto source = open(GetParam(), 1000);
  ASSERT_TRUE(source->thread_begin(gettid()));
  Collect collect;
  for (int i = 0; i < 30; ++i) {
    pid_t child = fork();
    if (child == 0) {
      burn(0.002);
      execl("/bin/true", "true", nullptr);
      _exit(127);
    }
    source->drain(collect);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    ASSERT_TRUE(WIFEXITED(status)) << WTERMSIG(status);
    ASSERT_EQ(WEXITSTATUS(status), 0);
  }
  // And a busy, sampled process that executes another one itself.
  pid_t child = fork();
  if (child == 0) {
    source->forked_child();
    source->thread_begin(gettid());
    source->drain(collect);
    burn(0.05);
    execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done", nullptr);
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_P(EverySource, WorksWithoutPrivileges) {
  pid_t child = fork();
  if (child == 0) {
    // Root gives everything up; anybody else has nothing to give.
    if (geteuid() == 0 && (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)))
      _exit(2);
    std::string why;
    auto source = open_sample_source({GetParam(), 250}, why);
    if (!source) _exit(why.find("refused") != std::string::npos ? 3 : 4);
    source->thread_begin(gettid());
    Collect collect;
    source->drain(collect);
    burn_until(5, *source, collect);
    _exit(collect.samples.size() >= 5 ? 0 : 5);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  int paranoid = 0;
  FILE* file = std::fopen("/proc/sys/kernel/perf_event_paranoid", "r");
  ASSERT_EQ(std::fscanf(file, "%d", &paranoid), 1);
  std::fclose(file);
  bool refused = GetParam() == std::string("perf") && paranoid > 2;
  EXPECT_EQ(WEXITSTATUS(status), refused ? 3 : 0) << "perf_event_paranoid " << paranoid;
}

std::atomic<int> signals_of_the_program = 0;
void programs_handler(int) {
  signals_of_the_program = signals_of_the_program + 1;
}

// The timer counts the time in which the kernel clears pages. The loop that touches them has not
// accessed memory meanwhile.
TEST_P(EverySource, TimeInTheKernelIsNotTheLoops) {
  auto source = open(GetParam());
  ASSERT_TRUE(source);
  ASSERT_TRUE(source->thread_begin(gettid()));
  Collect collect;
  constexpr std::size_t k_bytes = 64 << 20;
  rusage before{}, after{};
  getrusage(RUSAGE_THREAD, &before);
  for (double end = thread_cpu() + 1; thread_cpu() < end;) {
    void* pages = mmap(nullptr, k_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    madvise(pages, k_bytes, MADV_NOHUGEPAGE);
    for (std::size_t i = 0; i < k_bytes; i += page_size())
      static_cast<volatile char*>(pages)[i] = 1;
    munmap(pages, k_bytes);
    source->drain(collect);
  }
  getrusage(RUSAGE_THREAD, &after);
  source->thread_end(gettid());
  source->drain(collect);
  const auto seconds = [](const timeval& time) {
    return double(time.tv_sec) + 1e-6 * double(time.tv_usec);
  };
  const double user = seconds(after.ru_utime) - seconds(before.ru_utime);
  const double kernel = seconds(after.ru_stime) - seconds(before.ru_stime);
  if (kernel < 0.5) GTEST_SKIP() << "the kernel clears pages in " << kernel << " s of 1 s";
  double sampled = 0;
  for (const AccessSample& sample : collect.samples)
    sampled += 1e-9 * double{sample.weight};
  // perf's clock and the kernel's ticks look at different moments.
  EXPECT_LT(sampled, user + 0.15) << kernel;
}

TEST(SamplingTimer, LeavesSignalsThatAreInUse) {
  signal(SIGURG, programs_handler);
  signal(SIGRTMIN + 4, programs_handler);
  {
    auto source = open("timer");
    EXPECT_NE(source->description().find("signal " + std::to_string(SIGRTMIN + 5)),
              std::string::npos)
        << source->description();
    source->thread_begin(gettid());
    Collect collect;
    burn_until(1, *source, collect);
    EXPECT_FALSE(collect.samples.empty());
    raise(SIGURG);
    EXPECT_EQ(signals_of_the_program, 1); // not one of them ours
  }
  burn(0.02);
  signal(SIGURG, SIG_DFL);
  signal(SIGRTMIN + 4, SIG_DFL);
}

TEST(SamplingTimer, StepsBackWhenTheProgramTakesTheSignal) {
  auto source = open("timer");
  ASSERT_TRUE(source->thread_begin(gettid()));
  burn(0.05);
  signal(SIGURG, programs_handler);
  Collect collect;
  source->drain(collect); // sees it; one warning on stderr
  signals_of_the_program = 0;
  burn(0.05);
  EXPECT_EQ(signals_of_the_program, 0);
  EXPECT_FALSE(source->thread_begin(gettid()));
  source.reset();
  struct sigaction now = {};
  sigaction(SIGURG, nullptr, &now);
  EXPECT_EQ(now.sa_handler, programs_handler); // still the program's
  signal(SIGURG, SIG_DFL);
}

TEST(SamplingTimer, ForeignSignalsAreNotSamples) {
  auto source = open("timer", 1);
  ASSERT_TRUE(source->thread_begin(gettid()));
  for (int i = 0; i < 100; ++i)
    raise(SIGURG);
  sigval value;
  value.sival_ptr = &value;
  sigqueue(getpid(), SIGURG, value);
  Collect collect;
  source->drain(collect);
  EXPECT_TRUE(collect.samples.empty());
}

TEST(SamplingTimer, ResettingAllSignalsDoesNotEndTheProcess) {
  pid_t child = fork();
  if (child == 0) {
    auto source = open("timer");
    source->thread_begin(gettid());
    for (int number = 1; number < 65; ++number)
      signal(number, SIG_DFL);
    burn(0.1);
    Collect collect;
    source->drain(collect);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

} // namespace
