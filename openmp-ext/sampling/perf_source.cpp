// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The default source: CPU_CLOCK rings of each thread. The watched thread only adds its id to a
// list; the helper thread opens, reads, decodes and closes.
//
// Two clocks share the rate: distances between samples of one and samples of the other take all
// values, and two close samples show how fast a loop runs (loop_pace.hpp). The periods have the
// ratio 1 : 2 − 1/φ, which spreads the distances most evenly. With many threads, or if no second
// ring can be opened, there is one clock, and loops have no pace.
//
// Ordinary users have little locked memory (perf_event_mlock_kb a CPU and user, then
// RLIMIT_MEMLOCK, often 64 KiB). So a ring holds only half a second without a drain at this rate:
// 32 and 16 KiB at 100 Hz, at most 128 KiB, less if many threads share 2 MiB. If that is too small
// for records with a piece of the stack, records have none.

#include "sampling/calibrate.hpp"
#include "sampling/perf_ring.hpp"
#include "sampling/register_decoder.hpp"
#include "sampling/sources.hpp"
#include "sampling/thread_rings.hpp"

#include "base/notices.hpp"
#include "base/os.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace omptier {

namespace {

constexpr std::size_t k_largest_ring = 128 << 10;
constexpr std::size_t k_all_rings = 2 << 20; // bytes for all threads; at least 4 KiB each
constexpr double k_seconds_without_drain = 0.5, k_least_seconds = 0.15;
constexpr double k_second_to_first = 1.3819660113; // periods
constexpr std::size_t k_threads_with_two = 64;
constexpr double k_perf_calibration_rate = 20'000, k_perf_calibration_seconds = 0.02;
constexpr unsigned k_perf_calibration_samples = 100;

std::uint64_t period_of(double rate) {
  return static_cast<std::uint64_t>(1e9 / rate);
}

struct Clocks {
  PerfRing first, second; // the second may not be open
};

double bytes_of(double rate, bool with_stack, double seconds) {
  return rate * seconds * static_cast<double>(cpu_clock_record_bytes(with_stack));
}

std::size_t ring_bytes_for(double rate, bool with_stack, std::size_t rings) {
  const double bytes = bytes_of(rate, with_stack, k_seconds_without_drain);
  const std::size_t most = std::min(k_largest_ring, std::bit_floor(k_all_rings / (rings + 1)));
  return std::clamp<std::size_t>(static_cast<std::size_t>(bytes), page_size(),
                                 std::max(most, page_size()));
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
  bool watches_when_drained() const override { return true; }
  void thread_end(pid_t thread) override;
  void drain(SampleSink& sink) override;
  void forked_child() override;

private:
  struct State { // replaced as a whole in a forked child
    State(bool sharp, double period) : decoder(sharp, period) {}
    ThreadRings<Clocks> threads;
    PerfRecords records;
    RegisterDecoder decoder;
  };
  State* fresh_state() const { return new State(skid_.sharp(), 1e9 / rate_); }

  bool watch(pid_t thread, Clocks& clocks) const;
  int open(pid_t thread, PerfRing& ring, double rate, std::size_t rings, int leader = -1) const;
  void read(Clocks& clocks, PerfRecords& records) const;
  double first_rate() const { return rate_ * k_second_to_first / (1 + k_second_to_first); }
  double second_rate() const { return rate_ - first_rate(); }

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
  if (skid_.sharp() && !can_watch_addresses())
    return std::string(text) + "; watchpoints are refused: cache or memory is not known";
  return text;
}

bool PerfSource::thread_begin(pid_t thread) {
  state_->threads.note(thread, true);
  return true;
}

void PerfSource::thread_end(pid_t thread) {
  state_->threads.note(thread, false);
}

int PerfSource::open(pid_t thread, PerfRing& ring, double rate, std::size_t rings,
                     int leader) const {
  for (const bool with_stack : {true, false}) {
    const int error = ring.open(thread, cpu_clock_attributes(period_of(rate), with_stack),
                                ring_bytes_for(rate, with_stack, rings), leader);
    if (!with_stack || error == ESRCH) return error;
    const double needed = bytes_of(rate, with_stack, k_least_seconds);
    if (error == 0 && static_cast<double>(ring.ring_bytes()) >= needed) return 0;
    ring.close();
  }
  return 0;
}

bool PerfSource::watch(pid_t thread, Clocks& clocks) const {
  const std::size_t watched = state_->threads.watched();
  if (watched < k_threads_with_two) {
    if (open(thread, clocks.first, first_rate(), 2 * watched) == 0 &&
        open(thread, clocks.second, second_rate(), 2 * watched + 1, clocks.first.descriptor()) == 0)
      return true;
    clocks.first.close();
  }
  const int error = open(thread, clocks.first, rate_, watched);
  if (error != 0 && error != ESRCH) // the thread has already ended
    warn_once(
        Notice::events_refused,
        "no access samples of thread %d and perhaps others: perf_event_open or its buffer: %s; "
        "raise the limit on locked memory or open files, or set OMPTIER_EVENTS=timer",
        static_cast<int>(thread), strerrordesc_np(error));
  return error == 0;
}

// Merges the samples of both clocks in order of time.
void PerfSource::read(Clocks& clocks, PerfRecords& records) const {
  const auto begin = static_cast<std::ptrdiff_t>(records.samples.size());
  clocks.first.drain(records);
  const auto middle = static_cast<std::ptrdiff_t>(records.samples.size());
  clocks.second.drain(records);
  const auto first = records.samples.begin();
  std::inplace_merge(first + begin, first + middle, records.samples.end(),
                     [](const auto& a, const auto& b) { return a.time < b.time; });
}

void PerfSource::drain(SampleSink& sink) {
  PerfRecords& records = state_->records;
  state_->threads.drain([this](pid_t thread, Clocks& clocks) { return watch(thread, clocks); },
                        [&](Clocks& clocks) { read(clocks, records); });
  state_->decoder.refresh();
  for (const RegisterSample& sample : records.samples)
    state_->decoder.decode(sample, sink);
  sink.emulated(state_->decoder.counts());
  if (records.lost) sink.lost(records.lost);
  records.samples.clear();
  records.lost = 0;
}

void PerfSource::forked_child() {
  // Does not touch other locks, which the parent's helper thread may have held.
  state_->threads.forked_child([](Clocks& clocks) {
    clocks.first.abandon();
    clocks.second.abandon();
  });
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
  if (int error = ring.open(gettid(), cpu_clock_attributes(period_of(k_perf_calibration_rate)),
                            k_largest_ring)) {
    why = std::string("perf refused (") + strerrordesc_np(error) +
          "; see /proc/sys/kernel/perf_event_paranoid)";
    return nullptr;
  }
  static FamilySkid family;
  const Skid skid = family.get([&] {
    return measure_skid(k_perf_calibration_samples, k_perf_calibration_seconds, [&] {
      PerfRecords records;
      ring.drain(records);
      return std::move(records.samples);
    });
  });
  if (!skid.known()) {
    why = "perf delivers no samples here";
    return nullptr;
  }
  if (skid.sharp()) string_slowdown();
  return std::make_unique<PerfSource>(rate, skid);
#endif
}

} // namespace omptier
