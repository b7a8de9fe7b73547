// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses that the processor samples (hardware_events.hpp). Only misses are kept: the kind of
// memory does not matter to accesses that a cache served. Accesses whose level the processor does
// not report (most stores) count as misses.
//
// No machine of the project has such a unit: decoding is tested on bytes, the rest is small.

#include "sampling/code_facts.hpp"
#include "sampling/counter_clock.hpp"
#include "sampling/hardware_events.hpp"
#include "sampling/memory_event.hpp"
#include "sampling/perf_ring.hpp"
#include "sampling/sources.hpp"
#include "sampling/thread_rings.hpp"

#include "base/notices.hpp"
#include "base/os.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/ioctl.h>
#include <unistd.h>

namespace omptier {

namespace {

constexpr std::size_t k_ring_bytes = 64 << 10, k_packet_bytes = 128 << 10;
constexpr double k_trial_rate = 10'000;
constexpr std::size_t k_trial_words = 1 << 20;     // 8 MiB
constexpr std::uint64_t k_trial_time = 20'000'000; // ns
constexpr double k_operations_per_second = 1e9; // of a thread, converts a rate to SPE's interval
constexpr std::uint64_t k_user_addresses = std::uint64_t{1} << 63;

struct Events { // of one thread
  std::vector<PerfRing> rings;
  pid_t thread = 0;
};

class HardwareSource final : public SampleSource {
public:
  HardwareSource(HardwareUnit unit, double rate)
      : unit_(std::move(unit)), rate_(rate), threads_(new ThreadRings<Events>) {
    clock_.start(1e9);
  }
  ~HardwareSource() override { delete threads_; }

  const char* name() const override { return "hardware"; }
  Measure measure() const override { return Measure::misses; }
  double worst_error() const override { return k_blame_error; } // not measured: the default's
  std::string description() const override;
  bool watches_when_drained() const override { return true; }
  bool thread_begin(pid_t thread) override {
    threads_->note(thread, true);
    return true;
  }
  void thread_end(pid_t thread) override { threads_->note(thread, false); }
  void drain(SampleSink& sink) override;
  void forked_child() override;
  bool delivers() const; // on the calling thread

private:
  int open(pid_t thread, Events& events) const; // errno
  bool watch(pid_t thread, Events& events) const;
  void read(Events& events, SampleSink& sink);
  void emit(const MemoryEvent& event, double nanoseconds_per_cycle, SampleSink& sink);

  HardwareUnit unit_;
  double rate_;
  CounterClock clock_; // of SPE's packets
  CodeFacts code_;
  ThreadRings<Events>* threads_;
};

std::string HardwareSource::description() const {
  char text[200];
  std::snprintf(text, sizeof text,
                "accesses that missed the caches, sampled by the processor (%s), about %.0f a "
                "second and thread; the error has not been measured",
                unit_.name, rate_);
  return text;
}

int HardwareSource::open(pid_t thread, Events& events) const {
  int error = 0;
  events.thread = thread;
  for (const perf_event_attr& wanted : unit_.events) {
    const bool leads = unit_.leader && events.rings.empty();
    perf_event_attr attributes = wanted;
    if (unit_.packets) {
      attributes.sample_period = static_cast<std::uint64_t>(k_operations_per_second / rate_);
    } else if (!leads) {
      attributes.freq = 1;
      attributes.sample_freq = static_cast<std::uint64_t>(rate_);
    }
    PerfRing& ring = events.rings.emplace_back();
    const int group = unit_.leader && events.rings.size() == 2 ? events.rings[0].descriptor() : -1;
    error = ring.open(thread, attributes, leads ? 1 : k_ring_bytes, group);
    if (!error && unit_.packets) error = ring.open_packets(k_packet_bytes);
    if (error) break;
  }
  return error;
}

bool HardwareSource::watch(pid_t thread, Events& events) const {
  const int error = open(thread, events);
  if (error && error != ESRCH)
    warn_once(Notice::hardware_refused,
              "no access samples of thread %d and perhaps others: the processor's events: %s; "
              "raise the limit on locked memory or open files, or set OMPTIER_EVENTS=perf",
              static_cast<int>(thread), strerrordesc_np(error));
  return error == 0;
}

// An event that opens may deliver nothing: tried with loads that miss the first caches.
bool HardwareSource::delivers() const {
  Events events;
  if (open(static_cast<pid_t>(gettid()), events)) return false;
  std::vector<std::uint64_t> memory(k_trial_words);
  const volatile std::uint64_t* words = memory.data();
  std::size_t at = 0;
  const std::uint64_t begin = monotonic_nanoseconds();
  while (monotonic_nanoseconds() - begin < k_trial_time)
    for (unsigned i = 0; i < 1000; ++i)
      at = (at + 4099 + words[at]) % k_trial_words;
  std::size_t found = 0;
  for (PerfRing& ring : events.rings) {
    ioctl(ring.descriptor(), PERF_EVENT_IOC_DISABLE, 0); // flushes buffered records
    ring.drain([&](std::uint32_t type, auto) { found += type == PERF_RECORD_SAMPLE; });
    found += ring.drain_packets().size();
  }
  return found > 0;
}

void HardwareSource::emit(const MemoryEvent& event, double nanoseconds_per_cycle,
                          SampleSink& sink) {
  const bool by_user = event.pc < k_user_addresses && event.address < k_user_addresses;
  if (event.kind == AccessKind::unknown || !event.address || !by_user) return;
  if (event.level == AccessLevel::cache) return;
  AccessSample sample;
  sample.time = event.time;
  sample.pc = event.pc;
  sample.address = event.address;
  sample.thread = event.thread;
  sample.kind = event.kind;
  sample.level = event.level;
  code_.add_to(sample);
  sample.weight = static_cast<float>(std::max<std::uint64_t>(event.period, 1));
  sample.latency = static_cast<float>(event.cycles * nanoseconds_per_cycle);
  sink.sample(sample);
}

void HardwareSource::read(Events& events, SampleSink& sink) {
  std::uint64_t lost = 0;
  for (PerfRing& ring : events.rings) {
    const double tick = ring.nanoseconds_per_tick();
    ring.drain([&](std::uint32_t type, std::span<const std::uint64_t> words) {
      MemoryEvent event;
      lost += lost_samples(type, words);
      if (type == PERF_RECORD_SAMPLE && parse_memory_sample(words, event))
        emit(event, tick, sink);
      if (type == PERF_RECORD_AUX && words.size() >= 3 && (words[2] & PERF_AUX_FLAG_TRUNCATED))
        ++lost; // at least
    });
    if (!unit_.packets) continue;
    std::vector<MemoryEvent> accesses;
    parse_packets(ring.drain_packets(), accesses);
    for (MemoryEvent& event : accesses) {
      event.time = clock_.time_of(event.time ? event.time : counter_now());
      event.thread = static_cast<std::uint32_t>(events.thread);
      event.period = static_cast<std::uint64_t>(k_operations_per_second / rate_);
      emit(event, 0, sink); // 0: the rate of these cycles is unknown
    }
  }
  if (lost) sink.lost(lost);
}

void HardwareSource::drain(SampleSink& sink) {
  clock_.advance();
  code_.refresh();
  threads_->drain([this](pid_t thread, Events& events) { return watch(thread, events); },
                  [&](Events& events) { read(events, sink); });
}

void HardwareSource::forked_child() {
  threads_->forked_child([](Events& events) {
    for (PerfRing& ring : events.rings)
      ring.abandon();
  });
  threads_ = new ThreadRings<Events>; // without touching the parent's locks and events
}

} // namespace

std::unique_ptr<SampleSource> open_hardware_source(double rate, std::string& why) {
  std::string reason;
  HardwareUnit unit = find_hardware_unit(reason);
  if (unit.events.empty()) {
    why = "no hardware events (" + reason + ")";
    return nullptr;
  }
  if (!HardwareSource(unit, k_trial_rate).delivers()) {
    why = std::string("hardware events: ") + unit.name + " opens, but delivers nothing";
    return nullptr;
  }
  return std::make_unique<HardwareSource>(std::move(unit), rate);
}

} // namespace omptier
