// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See barriers.hpp. Several primary threads (regions begun by threads of the program's own) share
// the queue: an entry is claimed by a counter and readable once it bears its number. Threads look
// for room before they claim, so the queue is called full while there is still some for those that
// looked at the same time.
#include "ompt/barriers.hpp"

#include "base/os.hpp"

#include <algorithm>

namespace omptier {
namespace {

constexpr std::size_t k_reserve = 1024; // entries for threads that looked at the same time

struct PrimaryThread {
  std::uint64_t since;
  std::uint32_t region;
  std::uint32_t depth; // of regions that this thread has met and not ended
};
thread_local constinit PrimaryThread t_primary
    __attribute__((tls_model("initial-exec"))) = {0, 0, 0};

} // namespace

bool BarrierQueue::open() {
  if (entries_.load(std::memory_order_acquire) != nullptr) return true;
  auto* pages = static_cast<Entry*>(map_pages(k_entries * sizeof(Entry)));
  if (pages == nullptr) return false;
  Entry* none = nullptr;
  if (!entries_.compare_exchange_strong(none, pages)) os().unmap(pages, k_entries * sizeof(Entry));
  return true;
}

void BarrierQueue::region_began(std::uint32_t region) {
  if (t_primary.depth++ > 0) return;
  t_primary.region = region;
  t_primary.since = monotonic_nanoseconds();
}

void BarrierQueue::region_ended() {
  if (t_primary.depth > 0) --t_primary.depth;
}

void BarrierQueue::put(const BarrierPassed& passed) {
  const std::uint64_t number = head_.fetch_add(1, std::memory_order_acq_rel);
  Entry& entry = entries_.load(std::memory_order_relaxed)[number % k_entries];
  entry.what = passed;
  entry.written.store(number + 1, std::memory_order_release);
}

std::uint64_t BarrierQueue::passed(const void* place, std::uint32_t thread) {
  if (t_primary.depth != 1 || !open()) return 0;
  BarrierPassed passed;
  passed.time = monotonic_nanoseconds();
  passed.since = t_primary.since;
  passed.place = std::max<std::uintptr_t>(reinterpret_cast<std::uintptr_t>(place), 1);
  passed.region = t_primary.region;
  passed.thread = thread;
  t_primary.since = passed.time;
  const std::uint64_t waiting =
      head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire);
  if (waiting + k_reserve > k_entries) {
    dropped_.store(true, std::memory_order_relaxed);
    return 0;
  }
  if (dropped_.load(std::memory_order_relaxed) && dropped_.exchange(false)) {
    BarrierPassed gap = passed;
    gap.place = 0;
    gap.time = gap.since; // up to here; since when is not known
    gap.since = 0;
    put(gap);
  }
  put(passed);
  return std::uint64_t{passed.region} + 1;
}

void BarrierQueue::forget() {
  t_primary = {};
  tail_.store(head_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void SampleTimes::sort() {
  std::sort(times_.begin(), times_.end());
  next_ = 0;
}

bool SampleTimes::any(std::uint64_t since, std::uint64_t until) {
  while (next_ > 0 && times_[next_ - 1] > since)
    --next_;
  while (next_ < times_.size() && times_[next_] <= since)
    ++next_;
  return next_ < times_.size() && times_[next_] <= until;
}

void SampleTimes::settle(std::uint64_t until) {
  const auto* later = std::upper_bound(times_.begin(), times_.end(), until);
  auto gone = static_cast<std::size_t>(later - times_.begin());
  if (gone > 0) --gone; // the last one stays
  std::copy(times_.begin() + gone, times_.end(), times_.begin());
  times_.resize(times_.size() - gone, 0);
  next_ = 0;
}

void SampleTimes::clear() {
  times_.clear();
  next_ = 0;
}

} // namespace omptier
