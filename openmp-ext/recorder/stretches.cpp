// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See stretches.hpp. Several primary threads (of regions begun by threads of the program's own)
// share the queue: an entry is claimed by a counter and readable once it bears its number. Threads
// check for room before they claim, so the queue counts as full while there is still room for those
// that check at the same time.
#include "recorder/stretches.hpp"

#include "base/os.hpp"

#include <algorithm>

namespace omptier {
namespace {

constexpr std::size_t k_reserve = 1024; // entries for threads that looked at the same time

struct PrimaryThread {
  std::uint64_t since;
  std::uint32_t region;
  std::uint16_t depth; // of regions that this thread has met and not ended
  bool divided;        // by a barrier
};
thread_local constinit PrimaryThread t_primary
    __attribute__((tls_model("initial-exec"))) = {0, 0, 0, false};

} // namespace

bool StretchQueue::open() {
  if (entries_.load(std::memory_order_acquire) != nullptr) return true;
  auto* pages = static_cast<Entry*>(map_pages(k_entries * sizeof(Entry)));
  if (pages == nullptr) return false;
  Entry* none = nullptr;
  if (!entries_.compare_exchange_strong(none, pages)) unmap_pages(pages, k_entries * sizeof(Entry));
  return true;
}

bool StretchQueue::put(const EndedStretch& stretch) {
  const bool kept = put_if_room(stretch);
  if (!kept) dropped_.fetch_add(1, std::memory_order_relaxed);
  return kept;
}

bool StretchQueue::put_if_room(const EndedStretch& stretch) {
  if (!open()) return false;
  const std::uint64_t waiting =
      head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire);
  if (waiting + k_reserve > k_entries) return false;
  const std::uint64_t number = head_.fetch_add(1, std::memory_order_acq_rel);
  Entry& entry = entries_.load(std::memory_order_relaxed)[number % k_entries];
  entry.stretch = stretch;
  entry.written.store(number + 1, std::memory_order_release);
  return true;
}

void StretchQueue::begin() {
  running_ = 0;
  last_region_ = 0;
  serial_since_ = monotonic_nanoseconds();
}

void StretchQueue::end() {
  if (running_.load() == 0 && last_region_.load() != 0)
    put({serial_since_.load(), monotonic_nanoseconds(), EndedStretch::Kind::serial, 0,
         last_region_.load(), 0});
}

void StretchQueue::region_began(std::uint32_t region, std::uint32_t thread) {
  if (t_primary.depth++ > 0) return;
  t_primary.region = region;
  t_primary.divided = false;
  t_primary.since = monotonic_nanoseconds();
  if (running_.fetch_add(1, std::memory_order_acq_rel) == 0)
    put({serial_since_.load(std::memory_order_relaxed), t_primary.since, EndedStretch::Kind::serial,
         thread, last_region_.load(std::memory_order_relaxed), std::uint64_t{region} + 1});
}

void StretchQueue::region_ended(std::uint32_t thread) {
  if (t_primary.depth == 0) return;
  --t_primary.depth;
  if (t_primary.depth > 0) return;
  const std::uint64_t now = monotonic_nanoseconds();
  if (t_primary.divided)
    put({t_primary.since, now, EndedStretch::Kind::rest, thread, t_primary.region, 0});
  serial_since_.store(now, std::memory_order_relaxed);
  last_region_.store(t_primary.region + 1, std::memory_order_relaxed);
  running_.fetch_sub(1, std::memory_order_acq_rel);
}

std::uint64_t StretchQueue::passed(const void* place, std::uint32_t thread) {
  if (t_primary.depth != 1) return 0;
  const std::uint64_t begin = t_primary.since, now = monotonic_nanoseconds();
  t_primary.since = now;
  t_primary.divided = true;
  const bool kept = put({begin, now, EndedStretch::Kind::barrier, thread, t_primary.region,
                         reinterpret_cast<std::uintptr_t>(place)});
  return kept ? std::uint64_t{t_primary.region} + 1 : 0;
}

void StretchQueue::forget() {
  t_primary = {};
  dropped_ = 0;
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

} // namespace omptier
