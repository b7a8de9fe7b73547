// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sources as a process meets them: refused, short of memory, robbed of their signal, forked.

#include "base/os.hpp"
#include "machine/guest/event_unit.h"
#include "sampling/machine_source.hpp"
#include "sampling/perf_ring.hpp"
#include "sampling/source.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace omptier;

struct Collect final : SampleSink {
  std::vector<AccessSample> samples;
  std::uint64_t dropped = 0;
  void sample(const AccessSample& access) override { samples.push_back(access); }
  void lost(std::uint64_t count) override { dropped += count; }
};

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
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(burn(0.1)); // errno survives
    source->drain(collect);
  }
  source->thread_end(gettid());
  source->drain(collect);
  // 0.4 s at 250 Hz; ticks come late on a busy machine, weights make up for it
  double seconds = 0;
  std::uint64_t end = monotonic_nanoseconds();
  for (const AccessSample& sample : collect.samples) {
    seconds += 1e-9 * static_cast<double>(sample.weight);
    EXPECT_EQ(sample.thread, static_cast<std::uint32_t>(gettid()));
    EXPECT_GE(sample.time, begin);
    EXPECT_LE(sample.time, end);
    EXPECT_NE(sample.pc, 0u);
  }
  EXPECT_GT(collect.samples.size(), 20u);
  EXPECT_NEAR(seconds, 0.4, 0.15);
  EXPECT_EQ(collect.dropped, 0u);
  std::size_t count = collect.samples.size();
  burn(0.05); // no longer watched
  source->drain(collect);
  EXPECT_EQ(collect.samples.size(), count);
}

TEST_P(EverySource, ManyThreadsComeAndGo) {
  auto source = open(GetParam(), 1000);
  unsigned before = open_files();
  Collect collect;
  std::atomic<bool> errno_kept = true;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 40; ++i)
      threads.emplace_back([&, i] {
        if (!source->thread_begin(gettid())) errno_kept = false;
        if (!burn(0.005)) errno_kept = false;
        if (i % 4) source->thread_end(gettid()); // some end without a word
      });
    source->drain(collect);
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
    burn(0.1);
    source->drain(own);
    bool sampled = !own.samples.empty();
    for (const AccessSample& sample : own.samples)
      sampled = sampled && sample.thread == static_cast<std::uint32_t>(gettid());
    _exit(closed && empty && begun && sampled ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  burn(0.05);
  source->drain(collect);
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
    burn(0.2);
    source->drain(collect);
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

TEST(SamplingTimer, LeavesSignalsThatAreInUse) {
  signal(SIGURG, programs_handler);
  signal(SIGRTMIN + 4, programs_handler);
  {
    auto source = open("timer");
    EXPECT_NE(source->description().find("signal " + std::to_string(SIGRTMIN + 5)),
              std::string::npos)
        << source->description();
    source->thread_begin(gettid());
    burn(0.1);
    Collect collect;
    source->drain(collect);
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

// ---- the perf ring's bytes ----

struct RingBytes {
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(4096);
  std::uint64_t head = 0;

  void put(const void* data, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      bytes[(head + i) % bytes.size()] = static_cast<const std::uint8_t*>(data)[i];
    head += size;
  }
  void record(std::uint32_t type, const std::vector<std::uint64_t>& words) {
    perf_event_header header = {type, 0, static_cast<std::uint16_t>(8 + 8 * words.size())};
    put(&header, sizeof header);
    put(words.data(), 8 * words.size());
  }
  void sample(std::uint64_t pc, std::uint64_t time, const std::vector<std::uint64_t>& clocks = {5},
              const std::vector<std::uint64_t>& stack = {}) {
    std::vector<std::uint64_t> words = {pc, std::uint64_t{77} << 32 | 70, time, clocks.size()};
    words.insert(words.end(), clocks.begin(), clocks.end());
    words.push_back(
        2); // abi, then the registers in perf's order: ax bx cx dx si di bp sp flags r8 … r15
    for (std::uint64_t i = 0; i < 17; ++i)
      words.push_back(100 + i);
    words.insert(words.end(), stack.begin(), stack.end());
    record(PERF_RECORD_SAMPLE, words);
  }
};

TEST(SamplingPerfRing, ReadsRecordsAcrossTheEnd) {
  RingBytes ring;
  ring.head = 3 * 4096 - 60; // the first record goes around the end
  std::uint64_t tail = ring.head;
  ring.sample(0x1234, 99);
  ring.record(PERF_RECORD_LOST, {1, 7});
  ring.record(PERF_RECORD_THROTTLE, {1, 2, 3});
  ring.record(PERF_RECORD_LOST_SAMPLES, {5});
  ring.sample(0x5678, 100, {4000, 5000});
  PerfRecords records;
  EXPECT_EQ(parse_perf_records(ring.bytes.data(), 4096, tail, ring.head, records), ring.head);
  ASSERT_EQ(records.samples.size(), 2u);
  const RegisterSample& first = records.samples[0];
  EXPECT_EQ(first.pc, 0x1234u);
  EXPECT_EQ(first.time, 99u);
  EXPECT_EQ(first.thread, 77u);
  EXPECT_EQ(first.general[k_rax], 100u);
  EXPECT_EQ(first.general[k_rbx], 101u);
  EXPECT_EQ(first.general[k_rcx], 102u);
  EXPECT_EQ(first.general[k_rdx], 103u);
  EXPECT_EQ(first.general[k_rsi], 104u);
  EXPECT_EQ(first.general[k_rdi], 105u);
  EXPECT_EQ(first.general[k_rbp], 106u);
  EXPECT_EQ(first.general[k_rsp], 107u);
  EXPECT_EQ(first.flags, 108u);
  EXPECT_EQ(first.general[8], 109u);
  EXPECT_EQ(first.general[15], 116u);
  EXPECT_EQ(first.ran, 0u); // one clock's samples come too regularly
  EXPECT_EQ(records.samples[1].pc, 0x5678u);
  EXPECT_EQ(records.samples[1].ran, 4000u);
  EXPECT_EQ(records.samples[1].general[15], 116u);
  EXPECT_EQ(records.lost, 12u);
  EXPECT_EQ(records.throttled, 1u);
}

// Bytes asked for, the bytes, how many of them there were.
std::vector<std::uint64_t> stack_words(std::uint64_t asked, std::uint64_t there) {
  std::vector<std::uint64_t> words = {asked};
  for (std::uint64_t i = 0; i < asked / 8; ++i)
    words.push_back(1000 + i);
  words.push_back(there);
  return words;
}

TEST(SamplingPerfRing, StacksAreReadAsFarAsTheyWere) {
  for (const auto& [asked, there, kept] :
       std::vector<std::array<std::uint64_t, 3>>{{512, 512, 512},
                                                 {512, 80, 80},
                                                 {512, 0, 0},
                                                 {512, 9999, 512},
                                                 {256, 256, 0},
                                                 {0, 0, 0}}) {
    RingBytes ring;
    ring.sample(1, 1, {5, 6}, stack_words(asked, there));
    PerfRecords records;
    parse_perf_records(ring.bytes.data(), 4096, 0, ring.head, records);
    ASSERT_EQ(records.samples.size(), 1u);
    const RegisterSample& sample = records.samples[0];
    ASSERT_EQ(sample.stack_bytes, kept) << asked << " " << there;
    for (std::uint64_t i = 0; i < kept / 8; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, &sample.stack[8 * i], 8);
      EXPECT_EQ(word, 1000 + i);
    }
  }
}

TEST(SamplingPerfRing, TheKernelBringsTheStack) {
  PerfRing ring;
  ASSERT_EQ(ring.open(gettid(), cpu_clock_attributes(500'000, true), 64 << 10), 0);
  constexpr std::uint64_t k_mark = 0x5ca1'ab1e'0000'0000;
  volatile std::uint64_t marks[4] = {};
  PerfRecords records;
  for (unsigned round = 0; round < 100 && records.samples.size() < 10; ++round) {
    for (std::uint64_t i = 0; i < 10'000'000; ++i)
      marks[i % 4] = (marks[i % 4] & 0) + k_mark + i;
    ring.drain(records);
  }
  unsigned found = 0;
  for (const RegisterSample& sample : records.samples) {
    ASSERT_EQ(sample.stack_bytes % 8, 0u);
    std::uint64_t words[k_stack_kept / 8];
    std::memcpy(words, sample.stack.data(), sample.stack_bytes);
    found += std::any_of(words, words + sample.stack_bytes / 8,
                         [](std::uint64_t word) { return (word & ~0xffff'ffffull) == k_mark; });
  }
  ASSERT_GE(records.samples.size(), 10u);
  EXPECT_GE(found, records.samples.size() * 8 / 10);
}

TEST(SamplingPerfRing, DamagedBytesAreSkipped) {
  for (std::uint16_t size : {std::uint16_t{0}, std::uint16_t{4}, std::uint16_t{60000}}) {
    RingBytes ring;
    ring.sample(1, 1);
    perf_event_header header = {PERF_RECORD_SAMPLE, 0, size};
    ring.put(&header, sizeof header);
    ring.sample(2, 2);
    PerfRecords records;
    EXPECT_EQ(parse_perf_records(ring.bytes.data(), 4096, 0, ring.head, records), ring.head);
    EXPECT_EQ(records.samples.size(), 1u);
  }
  RingBytes ring; // too short for a sample, registers of a 32-bit program, larger than any of ours
  ring.record(PERF_RECORD_SAMPLE, {1, 2, 3});
  ring.record(PERF_RECORD_SAMPLE, std::vector<std::uint64_t>(23, 1));
  ring.record(PERF_RECORD_SAMPLE, std::vector<std::uint64_t>(23, ~std::uint64_t{0})); // clocks
  ring.sample(3, 3, {1, 2, 3});
  ring.record(PERF_RECORD_SAMPLE + 90, std::vector<std::uint64_t>(300, 1));
  PerfRecords records;
  EXPECT_EQ(parse_perf_records(ring.bytes.data(), 4096, 0, ring.head, records), ring.head);
  EXPECT_TRUE(records.samples.empty());
}

// ---- the machine's event unit ----

// A region as the virtual machine's plugin fills it, of two vCPUs with rings of eight records.
struct FakeEventUnit {
  FakeEventUnit() {
    void* memory =
        mmap(nullptr, EVENT_UNIT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    unit = static_cast<event_unit*>(memory);
    unit->magic = EVENT_UNIT_MAGIC;
    unit->version = EVENT_UNIT_VERSION;
    unit->header_size = sizeof *unit;
    unit->record_size = sizeof(event_record);
    unit->vcpus = 2;
    unit->capacity = 8;
    unit->region_size = EVENT_UNIT_SIZE;
    unit->period = 100;
    unit->tsc_frequency = 2e9;
  }
  void put(std::uint32_t vcpu, std::uint64_t pc, std::uint8_t flags) {
    event_ring& ring = unit->rings[vcpu];
    event_record record = {};
    record.tsc = __builtin_ia32_rdtsc() - 1000; // the host is 1000 ticks behind
    record.pc = pc;
    record.virtual_address = 0x1000 + ring.head;
    record.latency = 350;
    record.vcpu = static_cast<std::uint16_t>(vcpu);
    record.node = 2;
    record.flags = flags;
    record.level = EVENT_LEVEL_MEMORY;
    event_unit_records(unit, vcpu)[ring.head++ % unit->capacity] = record;
  }
  event_unit* unit;
};

TEST(SamplingMachine, KeepsRecordsOfThisProcess) {
  FakeEventUnit fake;
  event_unit* unit = fake.unit;
  const auto put = [&](std::uint32_t vcpu, std::uint64_t pc, std::uint8_t flags) {
    fake.put(vcpu, pc, flags);
  };
  auto here = reinterpret_cast<std::uint64_t>(&std::strtod);
  put(0, here, 0); // from before
  std::uint64_t before = monotonic_nanoseconds();
  auto source = make_machine_source({unit, EVENT_UNIT_SIZE, -1, 1000, true});
  EXPECT_EQ(source->measure(), Measure::misses);
  EXPECT_TRUE(source->thread_begin(gettid()));
  cpu_set_t old, one;
  sched_getaffinity(0, sizeof old, &old);
  CPU_ZERO(&one);
  CPU_SET(1, &one);
  bool bound = sched_setaffinity(0, sizeof one, &one) == 0;
  for (int i = 0; i < 6; ++i)
    put(1, here, i % 2 ? EVENT_STORE | EVENT_STREAMED : 0);
  put(0, 0x100, 0);                                           // other people's code
  put(0, std::uint64_t{0xffffffff81000000}, 0);               // the kernel's
  put(0, reinterpret_cast<std::uint64_t>(unit), EVENT_STORE); // not code
  unit->rings[0].lost = 3;
  Collect collect;
  source->drain(collect);
  ASSERT_EQ(collect.samples.size(), 6u);
  EXPECT_EQ(collect.dropped, 3u);
  const AccessSample &load = collect.samples[0], &store = collect.samples[1];
  EXPECT_EQ(load.kind, AccessKind::load);
  EXPECT_EQ(load.address, 0x1000u);
  EXPECT_FALSE(load.streamed);
  EXPECT_EQ(store.kind, AccessKind::store);
  EXPECT_TRUE(store.streamed);
  EXPECT_EQ(load.node, 2);
  EXPECT_EQ(load.level, AccessLevel::memory);
  EXPECT_FLOAT_EQ(load.weight, 100);
  EXPECT_FLOAT_EQ(load.latency, 350);
  EXPECT_EQ(load.thread, bound ? static_cast<std::uint32_t>(gettid()) : 0);
  EXPECT_NEAR(static_cast<double>(load.time), static_cast<double>(before), 1e8);
  sched_setaffinity(0, sizeof old, &old);
  for (int i = 0; i < 8; ++i)
    put(1, here, 0); // exactly full, around the end
  source->drain(collect);
  EXPECT_EQ(collect.samples.size(), 14u);
  EXPECT_EQ(collect.dropped, 3u);
  unit->version = 9; // damaged meanwhile: nothing more is read
  put(1, here, 0);
  source->drain(collect);
  EXPECT_EQ(collect.samples.size(), 14u);
  unit->version = EVENT_UNIT_VERSION;
  pid_t child = fork();
  if (child == 0) { // one reader a region: the parent
    source->forked_child();
    bool begun = source->thread_begin(gettid());
    source->drain(collect);
    _exit(!begun && collect.samples.size() == 14 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

} // namespace
