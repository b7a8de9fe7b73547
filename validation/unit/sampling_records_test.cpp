// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What others leave in memory for us to read: the kernel in perf's rings, the virtual machine in
// its event unit.

#include "base/os.hpp"
#include "borders/event_unit.h"
#include "collected_samples.hpp"
#include "sampling/counter_clock.hpp"
#include "sampling/machine_source.hpp"
#include "sampling/perf_ring.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace omptier;

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

constexpr std::uint64_t k_mark = 0x5ca1'ab1e'0000'0000;
__attribute__((noinline)) void spin(volatile std::uint64_t* marks) {
  for (std::uint64_t i = 0; i < 10'000'000; ++i)
    marks[i % 4] = (marks[i % 4] & 0) + k_mark + i;
}
// In a small frame next to the stack's end, and not below it.
__attribute__((noinline)) void spin_with_marks() {
  volatile std::uint64_t marks[4] = {};
  spin(marks);
}

TEST(SamplingPerfRing, TheKernelBringsTheStack) {
  PerfRing ring;
  ASSERT_EQ(ring.open(gettid(), cpu_clock_attributes(500'000, true), 64 << 10), 0);
  PerfRecords records;
  for (unsigned round = 0; round < 100 && records.samples.size() < 10; ++round) {
    spin_with_marks();
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
    record.tsc = counter_now() - 1000; // the host is 1000 ticks behind
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
    put(1, here, i == 5 ? EVENT_STORE | EVENT_KERNEL : i % 2 ? EVENT_STORE | EVENT_STREAMED : 0);
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
  EXPECT_FALSE(store.by_kernel);
  EXPECT_TRUE(collect.samples[5].by_kernel);
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
