// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers on their way from the program's threads to the log. Only the primary thread of an
// outermost region tells of the barriers it passes: a look at the clock and one entry in a queue,
// no lock, no system call. The helper thread takes the entries out, counts them by region and
// place, and lets only those into the log that end a stretch in which a sample lies: a program with
// a million barriers a second makes no larger a log than one with a hundred.
//
// When the queue is full (the helper thread did not get to run), barriers are dropped; the first
// one after that is preceded by one of no place, so that the samples between are nobody's stretch.
#pragma once

#include "base/page_array.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace omptier {

struct BarrierPassed {
  std::uint64_t time = 0;   // when the primary thread left it
  std::uint64_t since = 0;  // begin of the stretch that it ends: region's begin, barrier before
  std::uint64_t place = 0;  // return address of the construct; 0: barriers were dropped here
  std::uint32_t region = 0; // the recorder's number
  std::uint32_t thread = 0;
};

class BarrierQueue {
public:
  static constexpr std::size_t k_entries = std::size_t{1} << 16;

  // On the thread that meets the construct, which becomes the team's primary thread.
  void region_began(std::uint32_t region);
  void region_ended();
  // On any thread, when it leaves a barrier. Returns the region's number + 1; 0 when the barrier
  // does not count: not a primary thread, a region in a region, dropped.
  std::uint64_t passed(const void* place, std::uint32_t thread);

  // Helper thread: the entries up to a time, in order. take(BarrierPassed).
  template <typename Take> void drain(std::uint64_t until, Take&& take) {
    Entry* entries = entries_.load(std::memory_order_acquire);
    if (entries == nullptr) return;
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    for (; tail != head; ++tail) {
      Entry& entry = entries[tail % k_entries];
      if (entry.written.load(std::memory_order_acquire) != tail + 1) break; // not finished yet
      if (entry.what.time > until) break;
      take(entry.what);
      tail_.store(tail + 1, std::memory_order_release);
    }
  }
  // In the child after fork: nothing is on its way, and no thread is in a region that is recorded.
  void forget();

private:
  struct Entry {
    std::atomic<std::uint64_t> written; // its number in the queue, from 1
    BarrierPassed what;
  };
  void put(const BarrierPassed& passed);
  bool open();

  std::atomic<Entry*> entries_{nullptr}; // pages of our own, from the first barrier on
  std::atomic<std::uint64_t> head_{0}, tail_{0};
  std::atomic<bool> dropped_{false};
};

// The times of samples that were drained, for asking which stretches hold any.
class SampleTimes {
public:
  void add(std::uint64_t time) { times_.add(time); }
  // Before the questions.
  void sort();
  // In (since, until]. Cheap when asked in about the order of time.
  bool any(std::uint64_t since, std::uint64_t until);
  // Barriers up to this time have been judged: of the samples before it only the last may still lie
  // in a stretch that has not ended.
  void settle(std::uint64_t until);
  void clear();

private:
  PageArray<std::uint64_t> times_;
  std::size_t next_ = 0; // where the last question led
};

} // namespace omptier
