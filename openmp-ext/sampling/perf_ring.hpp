// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread's perf event with its ring buffer: the kernel writes a record, without a signal, each
// time the thread has run for one period, and the helper thread reads it. Events are opened by
// thread id, so the watched thread does no work. The user of a ring chooses the event and parses
// its records; CPU_CLOCK, whose records are the registers, is here.
#pragma once

#include "emulation/registers.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <linux/perf_event.h>
#include <span>
#include <sys/types.h>
#include <vector>

namespace omptier {

// A record without its header, in words as in the ring.
using PerfRecordVisitor = std::function<void(std::uint32_t type, std::span<const std::uint64_t>)>;

// Visits the records between tail and head of a ring of `size` bytes (a power of two); both count
// bytes and never wrap. Returns the new tail: head, also where damaged bytes had to be skipped.
std::uint64_t walk_perf_records(const std::uint8_t* ring, std::uint64_t size, std::uint64_t tail,
                                std::uint64_t head, const PerfRecordVisitor& visit);

// 0 for other records.
std::uint64_t lost_samples(std::uint32_t type, std::span<const std::uint64_t> words);

// Attributes of all our events: user code only, CLOCK_MONOTONIC, one thread, no wake-ups.
perf_event_attr perf_attributes(std::uint32_t type, std::uint64_t config);

// The CPU_CLOCK event: registers every `period` nanoseconds of the thread's CPU time, and
// optionally the top of the stack. If a thread has two in a group, the samples of both have the
// first one's count, the CPU time so far.
perf_event_attr cpu_clock_attributes(std::uint64_t period, bool with_stack = false);
std::size_t cpu_clock_record_bytes(bool with_stack);

// The contents of CPU_CLOCK rings.
struct PerfRecords {
  std::vector<RegisterSample> samples;
  std::uint64_t lost = 0;      // dropped by the kernel because a ring was full
  std::uint64_t throttled = 0; // times the kernel slowed the event down
};

std::uint64_t parse_perf_records(const std::uint8_t* ring, std::uint64_t size, std::uint64_t tail,
                                 std::uint64_t head, PerfRecords& records);

class PerfRing {
public:
  PerfRing() = default;
  PerfRing(PerfRing&& other) noexcept { *this = static_cast<PerfRing&&>(other); }
  PerfRing& operator=(PerfRing&& other) noexcept;
  ~PerfRing() { close(); }

  // Returns 0 or errno. The ring gets `bytes`, halved down to one page while the limit on locked
  // memory refuses it. leader: event whose group this one joins, -1 = none.
  int open(pid_t thread, const perf_event_attr& attributes, std::size_t bytes, int leader = -1);
  // A second buffer (bytes: a power of two of pages), for events that write packets (SPE).
  int open_packets(std::size_t bytes);
  void drain(const PerfRecordVisitor& visit);
  void drain(PerfRecords& records);
  std::vector<std::uint8_t> drain_packets();
  void close();
  // After fork, in the child: only closes the descriptor, since the mapping is not inherited.
  void abandon();

  std::size_t ring_bytes() const { return bytes_; }
  int descriptor() const { return fd_; }
  // Of a tick of the time-stamp counter, from the kernel; 0 = unknown.
  double nanoseconds_per_tick() const;

private:
  bool descriptor_is_ours() const;

  int fd_ = -1;
  std::uint64_t id_ = 0;                    // of the event; 0 = unknown
  perf_event_mmap_page* control_ = nullptr; // followed by the ring
  std::uint8_t* packets_ = nullptr;
  std::size_t bytes_ = 0; // of the ring alone
};

} // namespace omptier
