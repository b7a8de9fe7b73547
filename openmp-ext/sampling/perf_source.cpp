// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The default source: one CPU_CLOCK ring a thread. The watched thread only leaves its number in a
// list; the helper thread opens, reads, decodes and closes.
//
// Locked memory is short for ordinary users (perf_event_mlock_kb a CPU and user, then
// RLIMIT_MEMLOCK, often 64 KiB), so a ring is as small as the rate allows for half a second without
// a drain: 32 KiB at 100 Hz, 64 KiB at most.

#include "sampling/blame.hpp"
#include "sampling/calibrate.hpp"
#include "sampling/perf_ring.hpp"
#include "sampling/sources.hpp"

#include "base/log.hpp"
#include "base/os.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <unistd.h>

namespace omptier {

namespace {

constexpr std::size_t k_record_bytes = 192, k_largest_ring = 64 << 10;
constexpr double k_seconds_without_drain = 0.5;
constexpr double k_calibration_rate = 10'000, k_calibration_seconds = 0.02;
constexpr unsigned k_calibration_samples = 40;

std::uint64_t period_of(double rate) {
  return static_cast<std::uint64_t>(1e9 / rate);
}

std::size_t ring_bytes_for(double rate) {
  double bytes = rate * k_seconds_without_drain * k_record_bytes;
  return std::clamp<std::size_t>(static_cast<std::size_t>(bytes), page_size(), k_largest_ring);
}

class PerfSource final : public SampleSource {
public:
  PerfSource(double rate, const Skid& skid) : rate_(rate), skid_(skid), state_(fresh_state()) {}
  ~PerfSource() override { delete state_; }

  const char* name() const override { return "perf"; }
  Measure measure() const override { return Measure::time; }
  double worst_error() const override { return skid_.sharp() ? k_blame_error : 1; }
  std::string description() const override;
  bool thread_begin(pid_t thread) override;
  void thread_end(pid_t thread) override;
  void drain(SampleSink& sink) override;
  void forked_child() override;

private:
  struct Change {
    pid_t thread;
    bool begins;
  };
  struct Watched {
    pid_t thread;
    PerfRing ring;
  };
  struct State { // replaced as a whole in a forked child
    State(bool sharp, double period) : blamer(sharp, period) {}
    std::mutex lock;
    std::vector<Change> changes; // under lock
    std::mutex draining;         // what follows is the draining thread's
    std::vector<Watched> watched;
    PerfRecords records;
    Blamer blamer;
  };
  State* fresh_state() const { return new State(skid_.sharp(), 1e9 / rate_); }

  void watch(pid_t thread);
  void unwatch(pid_t thread);

  double rate_;
  Skid skid_;
  State* state_;
};

std::string PerfSource::description() const {
  char text[256];
  if (skid_.sharp())
    std::snprintf(
        text, sizeof text,
        "CPU time of each thread by perf, %.0f Hz, blamed on the memory access before the "
        "interrupt (%u of %u test interrupts landed right behind the stalled load)",
        rate_, skid_.next, skid_.samples);
  else
    std::snprintf(text, sizeof text,
                  "CPU time of each thread by perf, %.0f Hz, without addresses: interrupts do not "
                  "land behind the stalled instruction here (%u of %u in a test)",
                  rate_, skid_.next, skid_.samples);
  return text;
}

bool PerfSource::thread_begin(pid_t thread) {
  std::lock_guard guard(state_->lock);
  state_->changes.push_back({thread, true});
  return true;
}

void PerfSource::thread_end(pid_t thread) {
  std::lock_guard guard(state_->lock);
  state_->changes.push_back({thread, false});
}

void PerfSource::watch(pid_t thread) {
  unwatch(thread); // its number may have been another thread's
  PerfRing ring;
  int error = ring.open(thread, period_of(rate_), ring_bytes_for(rate_));
  if (error == 0)
    state_->watched.push_back({thread, std::move(ring)});
  else if (error != ESRCH) // the thread has already ended
    warn_once(
        Notice::sampling_reduced,
        "no access samples of thread %d and perhaps others: perf_event_open or its buffer: %s; "
        "raise the limit on locked memory or open files, or set OMPTIER_EVENTS=timer",
        static_cast<int>(thread), strerrordesc_np(error));
}

void PerfSource::unwatch(pid_t thread) {
  auto& watched = state_->watched;
  auto found = std::find_if(watched.begin(), watched.end(),
                            [&](const Watched& w) { return w.thread == thread; });
  if (found == watched.end()) return;
  found->ring.drain(state_->records);
  if (found != watched.end() - 1) *found = std::move(watched.back());
  watched.pop_back();
}

void PerfSource::drain(SampleSink& sink) {
  std::lock_guard draining(state_->draining);
  std::vector<Change> changes;
  {
    std::lock_guard guard(state_->lock);
    changes.swap(state_->changes);
  }
  PerfRecords& records = state_->records;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    bool ended_already =
        changes[i].begins &&
        std::any_of(changes.begin() + static_cast<std::ptrdiff_t>(i) + 1, changes.end(),
                    [&](const Change& c) { return c.thread == changes[i].thread && !c.begins; });
    if (!changes[i].begins)
      unwatch(changes[i].thread);
    else if (!ended_already)
      watch(changes[i].thread);
  }
  for (Watched& watched : state_->watched)
    watched.ring.drain(records);
  state_->blamer.refresh();
  for (const RegisterSample& sample : records.samples)
    sink.sample(state_->blamer.blame(sample));
  if (records.lost) sink.lost(records.lost);
  records.samples.clear();
  records.lost = 0;
}

void PerfSource::forked_child() {
  // The parent's helper thread does not exist here: what it was changing when the process forked is
  // left alone (its descriptors close at exec), and so are locks it may hold.
  if (state_->draining.try_lock())
    for (Watched& watched : state_->watched)
      watched.ring.abandon();
  state_ = fresh_state();
}

} // namespace

std::unique_ptr<SampleSource> open_perf_source(double rate, std::string& why) {
#if !defined(__x86_64__)
  (void)rate;
  why = "perf: instructions are not decoded on this architecture";
  return nullptr;
#else
  PerfRing ring;
  if (int error = ring.open(gettid(), period_of(k_calibration_rate), k_largest_ring)) {
    why = std::string("perf refused (") + strerrordesc_np(error) +
          "; see /proc/sys/kernel/perf_event_paranoid)";
    return nullptr;
  }
  Skid skid = measure_skid(k_calibration_samples, k_calibration_seconds, [&] {
    PerfRecords records;
    ring.drain(records);
    return std::move(records.samples);
  });
  if (!skid.known()) {
    why = "perf delivers no samples here";
    return nullptr;
  }
  return std::make_unique<PerfSource>(rate, skid);
#endif
}

} // namespace omptier
