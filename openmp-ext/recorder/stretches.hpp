// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stretches on their way from the program's threads to the log. A stretch lies between two moments
// that all threads of the program share: a barrier of an outermost region, its begin, its end.
// Within a region it is named after the barrier (or the end) that ends it, because the barrier
// after a loop is the loop's; outside of regions after the regions before and behind it. The
// primary thread queues them: one reading of the clock and one entry, no lock, no system call. The
// helper thread counts them and logs only those that contain a sample.
//
// If the queue is full (the helper thread did not run), stretches are dropped and counted; their
// samples are in no stretch.
#pragma once

#include "base/page_array.hpp"
#include "log/records.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace omptier {

struct EndedStretch {
  using Kind = StretchDefinition::Kind;

  std::uint64_t begin = 0, end = 0;
  Kind kind = Kind::barrier;
  std::uint32_t thread = 0;
  std::uint32_t region = 0; // the recorder's number; of a serial one: before it, from 1, or 0
  std::uint64_t place = 0;  // return address of the barrier; of a serial one: region behind it
};

class StretchQueue {
public:
  static constexpr std::size_t k_entries = std::size_t{1} << 16;

  // When recording begins and ends, which also begins or ends a stretch outside of regions.
  void begin();
  void end();
  // On the thread that meets the construct and becomes the team's primary thread.
  void region_began(std::uint32_t region, std::uint32_t thread);
  void region_ended(std::uint32_t thread);
  // On any thread that leaves a barrier. Returns the region's number + 1; 0 when the barrier does
  // not count: not a primary thread, a region in a region, dropped.
  std::uint64_t passed(const void* place, std::uint32_t thread);

  // Helper thread: take(const EndedStretch&) for the entries that ended by then, in order.
  template <typename Take> void drain(std::uint64_t until, Take&& take) {
    Entry* entries = entries_.load(std::memory_order_acquire);
    if (entries == nullptr) return;
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    for (; tail != head; ++tail) {
      Entry& entry = entries[tail % k_entries];
      if (entry.written.load(std::memory_order_acquire) != tail + 1) break; // not finished yet
      if (entry.stretch.end > until) break;
      take(entry.stretch);
      tail_.store(tail + 1, std::memory_order_release);
    }
  }
  // Stretches without room in the queue.
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  // In the child after fork: the queue is empty, and no thread is in a recorded region.
  void forget();

private:
  struct Entry {
    std::atomic<std::uint64_t> written; // its number in the queue, from 1
    EndedStretch stretch;
  };
  bool put(const EndedStretch& stretch);
  bool put_if_room(const EndedStretch& stretch);
  bool open();

  std::atomic<Entry*> entries_{nullptr}; // pages of our own, from the first region on
  std::atomic<std::uint64_t> head_{0}, tail_{0};
  // Of the whole program: running outermost regions; since when none runs, and after which.
  std::atomic<std::uint32_t> running_{0}, last_region_{0};
  std::atomic<std::uint64_t> serial_since_{0};
  std::atomic<std::uint64_t> dropped_{0};
};

// Times of the drained samples, to decide which stretches contain any.
class SampleTimes {
public:
  void add(std::uint64_t time) { times_.add(time); }
  // To be called before any().
  void sort();
  // In (since, until]. Cheap if calls are about in the order of time.
  bool any(std::uint64_t since, std::uint64_t until);
  // Drops the samples up to then, except the last, which may lie in a stretch that has not ended.
  void settle(std::uint64_t until);

private:
  PageArray<std::uint64_t> times_;
  std::size_t next_ = 0; // place of the last answer
};

} // namespace omptier
