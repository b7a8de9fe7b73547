// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread's perf event of type CPU_CLOCK with its ring buffer: the kernel writes the registers
// each time the thread has run for one period, without a signal; the helper thread reads. Opened by
// thread id, so the watched thread does nothing at all.
#pragma once

#include "sampling/registers.hpp"

#include <cstddef>
#include <cstdint>
#include <sys/types.h>
#include <vector>

struct perf_event_mmap_page;

namespace omptier {

// What was read out of rings.
struct PerfRecords {
  std::vector<RegisterSample> samples;
  std::uint64_t lost = 0;      // dropped by the kernel because a ring was full
  std::uint64_t throttled = 0; // times the kernel slowed the event down
};

// Reads the records between tail and head of a ring of `size` bytes (a power of two); both count
// bytes and never wrap. Returns the new tail: head, also where damaged bytes had to be skipped.
std::uint64_t parse_perf_records(const std::uint8_t* ring, std::uint64_t size, std::uint64_t tail,
                                 std::uint64_t head, PerfRecords& records);

class PerfRing {
public:
  PerfRing() = default;
  PerfRing(PerfRing&& other) noexcept { *this = static_cast<PerfRing&&>(other); }
  PerfRing& operator=(PerfRing&& other) noexcept;
  ~PerfRing() { close(); }

  // 0, or the errno of what was refused. The ring gets `bytes`, halved while the limit on locked
  // memory refuses it, down to one page.
  int open(pid_t thread, std::uint64_t period, std::size_t bytes);
  void drain(PerfRecords& records);
  void close();
  // After fork, in the child: the mapping was not inherited, only the descriptor is closed.
  void abandon();
  std::size_t ring_bytes() const { return bytes_; }

private:
  int fd_ = -1;
  perf_event_mmap_page* control_ = nullptr; // followed by the ring
  std::size_t bytes_ = 0;                   // of the ring alone
};

} // namespace omptier
