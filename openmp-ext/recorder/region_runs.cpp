// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See region_runs.hpp. The log is written outside of the lock.
#include "recorder/region_runs.hpp"

#include "base/os.hpp"

#include <algorithm>

namespace omptier {
namespace {

constexpr std::size_t k_kept_for_ends = 16; // for runs whose begin has been logged

} // namespace

RegionRuns::Totals* RegionRuns::totals_of(std::uint32_t region) {
  if (region >= totals_.size() && !totals_.resize(2 * std::size_t{region} + 16, {})) return nullptr;
  return &totals_[region];
}

void RegionRuns::front_begins(std::uint64_t now) {
  const Running& next = running_[0];
  front_ = {now, 0, next.region, next.thread, next.threads, log_next_, false};
  log_next_ = false;
}

void RegionRuns::front_ends(std::uint64_t now) {
  front_.end = now;
  if (Totals* totals = totals_of(front_.region)) {
    totals->all.nanoseconds += now - front_.begin;
    totals->changed = true;
  }
  const std::size_t waiting = next_ended_ - first_ended_;
  const std::size_t kept = front_.begin_logged ? 0 : k_kept_for_ends;
  if (!has_ring() || waiting + kept >= k_ended) return drop();
  ended_[next_ended_++ % k_ended] = front_;
}

void RegionRuns::begin(std::uint32_t region, std::uint32_t threads, std::uint32_t thread) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const std::uint64_t now = monotonic_nanoseconds();
  if (Totals* totals = totals_of(region)) {
    ++totals->all.entries;
    if (running_.empty() && region != last_region_) ++totals->all.entered_anew;
    totals->all.threads = std::max(totals->all.threads, threads);
    totals->changed = true;
  }
  if (!running_.add({region, thread, threads})) return drop();
  if (running_.size() > 1) return;
  last_region_ = region;
  front_begins(now);
}

bool RegionRuns::end(std::uint32_t region, std::uint32_t thread) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const std::uint64_t now = monotonic_nanoseconds();
  const auto before = next_ended_;
  for (std::size_t i = running_.size(); i-- > 0;) { // the innermost one of that thread
    if (running_[i].thread != thread || running_[i].region != region) continue;
    if (i == 0) front_ends(now);
    running_.remove(i);
    if (i == 0 && !running_.empty()) front_begins(now);
    break;
  }
  return next_ended_ != before && next_ended_ - first_ended_ == k_ended / 2;
}

void RegionRuns::log_next() {
  const std::lock_guard<std::mutex> guard(mutex_);
  log_next_ = true;
}

void RegionRuns::log_present() {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!running_.empty()) front_.must_log = true;
}

void RegionRuns::log_begin(const Run& run, LogWriter& log) {
  log.region({run.begin, run.region, run.threads, run.thread, true});
}

void RegionRuns::tell(SampleTimes& times, std::uint64_t until, bool every, LogWriter& log) {
  for (;;) {
    Run run{};
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      if (first_ended_ == next_ended_) break;
      run = ended_[first_ended_ % k_ended];
      if (run.end > until) break;
      ++first_ended_;
    }
    if (!run.begin_logged && !run.must_log && !every && !times.any(run.begin, run.end)) continue;
    if (!run.begin_logged) log_begin(run, log);
    log.region({run.end, run.region, 0, run.thread, false});
  }
  Run front{};
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (running_.empty() || front_.begin_logged || front_.begin > until || !has_ring()) return;
    front = front_;
  }
  if (!front.must_log && !every && !times.any(front.begin, until)) return;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    // The run has ended meanwhile: it is in the ring, or dropped as a whole.
    if (running_.empty() || front_.begin != front.begin || front_.region != front.region) return;
    front_.begin_logged = true; // from here on its end has a place in the ring
  }
  log_begin(front, log);
}

// A running region counts up to now.
void RegionRuns::write_totals(LogWriter& log) {
  for (std::uint32_t region = 0;; ++region) {
    RegionTotals totals;
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      if (region >= totals_.size()) return;
      const bool runs = !running_.empty() && front_.region == region;
      if (!totals_[region].changed && !runs) continue;
      totals_[region].changed = false;
      totals = totals_[region].all;
      if (runs) totals.nanoseconds += monotonic_nanoseconds() - front_.begin;
    }
    log.region_totals(region, totals);
  }
}

void RegionRuns::forget() {
  running_.clear();
  totals_.clear();
  first_ended_ = next_ended_ = 0;
  last_region_ = ~std::uint32_t{0};
  log_next_ = false;
  dropped_ = 0;
}

} // namespace omptier
