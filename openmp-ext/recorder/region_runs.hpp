// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts all runs of parallel regions, and logs only those that contain a sample, so that the log
// does not grow with 100,000 regions a second. Only the outermost region counts, the one that has
// run longest: when it ends, the next oldest takes its place. analysis/attribution.cpp does the
// same.
//
// begin and end are called on the program's threads, the rest on the helper thread; the lock inside
// is held for some instructions. Ended runs wait in a ring; if it is full they are only counted
// (Shortages::runs). A logged begin always gets its end.
#pragma once

#include "base/page_array.hpp"
#include "log/writer.hpp"
#include "recorder/stretches.hpp"

#include <atomic>
#include <mutex>

namespace omptier {

class RegionRuns {
public:
  static constexpr std::size_t k_ended = std::size_t{1} << 14;

  void begin(std::uint32_t region, std::uint32_t threads, std::uint32_t thread);
  // True if the helper thread should be woken: the ring is half full.
  bool end(std::uint32_t region, std::uint32_t thread);
  // Logs the next run in any case, because pages were moved for it.
  void log_next();
  // The same of the running one, because pages were moved at a barrier in it.
  void log_present();

  // Logs the runs that ended by then, and the running one, if they contain a sample (all of them,
  // if every is true). times: sorted.
  void tell(SampleTimes& times, std::uint64_t until, bool every, LogWriter& log);
  // For a run without a number; its samples are outside of regions.
  void drop() { dropped_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  // Only of regions that ran since the last call.
  void write_totals(LogWriter& log);

  // Around fork; no recorded region runs in the child.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  void forget();

private:
  struct Running {
    std::uint32_t region, thread, threads;
  };
  struct Run { // as the outermost one
    std::uint64_t begin, end;
    std::uint32_t region, thread, threads;
    bool must_log, begin_logged;
  };
  struct Totals {
    RegionTotals all;
    bool changed;
  };
  void front_begins(std::uint64_t now);
  void front_ends(std::uint64_t now);
  Totals* totals_of(std::uint32_t region);
  bool has_ring() { return !ended_.empty() || ended_.resize(k_ended, {}); }
  static void log_begin(const Run& run, LogWriter& log);

  std::mutex mutex_;
  PageArray<Running> running_; // [0]: the outermost
  PageArray<Totals> totals_;   // by region
  Run front_{};                // running_[0]'s
  PageArray<Run> ended_;       // a ring
  std::uint64_t first_ended_ = 0, next_ended_ = 0;
  std::uint32_t last_region_ = ~std::uint32_t{0};
  bool log_next_ = false;
  std::atomic<std::uint64_t> dropped_{0};
};

} // namespace omptier
