// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fallback where perf is refused (Debian's perf_event_paranoid of 3, containers): a timer on
// each thread's CPU time, whose signal goes to that thread. The handler copies the registers into
// the thread's ring; the helper thread does the rest. The kernel checks CPU-time timers once a
// tick, so there are at most HZ (usually 250) samples a second. It counts missed periods, which go
// into the weight.
//
// The signal is SIGURG if it is unused, else the first free real-time signal. SIGURG is ignored by
// default, so a program that resets all handlers, or a late signal, does no harm, and debuggers
// pass it on. When the program installs a handler for our signal, we first switch to another one;
// if we learn of it too late, sampling stops with a warning.
//
// Rings are never freed: a signal may still be pending when its timer has been deleted.

#include "sampling/calibrate.hpp"
#include "sampling/register_decoder.hpp"
#include "sampling/sources.hpp"
#include "sampling/timer_signal.hpp"

#include "base/notices.hpp"
#include "base/os.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)

namespace omptier {

namespace {

// Five samples take 20 ms of CPU time; on a busy machine ticks seldom hit this thread.
constexpr double k_timer_calibration_rate = 10'000, k_timer_calibration_seconds = 0.2;
constexpr unsigned k_timer_calibration_samples = 100;

TimerRing* ring_table() { // reserved once per process
  static TimerRing* const table = [] {
    void* mapped = os().map(nullptr, k_timer_rings * sizeof(TimerRing), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapped == MAP_FAILED ? nullptr : static_cast<TimerRing*>(mapped); // zeros: all free
  }();
  g_timer_rings.store(table);
  return table;
}

bool is_free(const struct sigaction& action) {
  return is_timer_action(action) || (!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL);
}

// g_timer_signal is set before our handler is installed, so that a handler which the program
// installs in between shows up as the previous action.
bool take(int number) {
  struct sigaction before = {}, ours = {};
  if (sigaction(number, nullptr, &before) != 0 || !is_free(before)) return false;
  ours.sa_sigaction = on_timer_signal;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&ours.sa_mask);
  g_timer_signal.store(number);
  if (sigaction(number, &ours, &before) == 0) {
    if (is_free(before) && g_timer_signal.load() == number) return true;
    if (timer_signal_is_ours(number)) sigaction(number, &before, nullptr);
  }
  g_timer_signal.store(0);
  return false;
}

bool take_signal(int but_not = 0) {
  g_timers_of.store(getpid());
  if (but_not != SIGURG && take(SIGURG)) return true;
  for (int number = SIGRTMIN + 4; number < SIGRTMAX; ++number)
    if (number != but_not && take(number)) return true;
  return false;
}

void give_signal_back() {
  const int number = g_timer_signal.exchange(0);
  if (number != 0 && timer_signal_is_ours(number)) restore_default_action(number);
}

// For messages; also valid while no signal is taken.
int last_signal() {
  const int number = g_timer_signal.load();
  return number != 0 ? number : g_left_timer_signal.load();
}

// The clock id of another thread's CPU time (CLOCK_THREAD_CPUTIME_ID), in the kernel's encoding.
clockid_t cpu_clock_of(pid_t thread) {
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | 6u);
}

// `armed` is cleared first: a program that takes the signal disarms the timers of armed rings.
void stop_timer(TimerRing& ring) {
  if (ring.armed.exchange(0) != 0) timer_delete(ring.timer);
}

itimerspec times_of(double rate) {
  auto period = static_cast<long>(1e9 / rate);
  const timespec time = {period / 1'000'000'000, period % 1'000'000'000};
  return {time, time};
}

// Starts a timer on a thread's CPU time or another clock. Returns 0 or errno. If the program has
// taken the signal, the ring waits for the next one.
int start_timer(TimerRing& ring, const itimerspec& times, pid_t thread, clockid_t clock) {
  const int number = g_timer_signal.load();
  ring.thread = thread;
  if (number == 0) return 0;
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = number;
  event.sigev_value.sival_ptr = &ring;
  event._sigev_un._tid = thread;
  timer_t timer{};
  int error = timer_create(clock, &event, &timer) == 0 ? 0 : errno;
  if (error == 0) {
    ring.timer = timer;
    ring.armed = number;
    error = timer_settime(timer, 0, &times, nullptr) == 0 ? 0 : errno;
    if (error != 0 || g_timer_signal.load() != number) stop_timer(ring);
  }
  if (error != 0) ring.thread = 0;
  return error;
}

// A thread that blocks the signal would get no samples, and its sigwait would see the signal.
bool signal_is_blocked() {
  sigset_t blocked;
  const int number = g_timer_signal.load();
  return number != 0 && pthread_sigmask(SIG_BLOCK, nullptr, &blocked) == 0 &&
         sigismember(&blocked, number) == 1;
}

void take_samples(TimerRing& ring, std::vector<RegisterSample>& samples) {
  std::uint32_t tail = ring.tail.load(std::memory_order_relaxed);
  std::uint32_t head = ring.head.load(std::memory_order_acquire);
  for (; tail != head; ++tail)
    samples.push_back(ring.slots[tail % TimerRing::k_slots]);
  ring.tail.store(tail, std::memory_order_release);
}

class TimerSource final : public SampleSource {
public:
  TimerSource(double rate, const Skid& skid) : rate_(rate), skid_(skid), state_(fresh_state()) {}
  ~TimerSource() override;

  const char* name() const override { return "timer"; }
  Measure measure() const override { return Measure::time; }
  double worst_error() const override { return skid_.sharp() ? k_blame_error : 1; }
  std::string description() const override;
  bool thread_begin(pid_t thread) override;
  void thread_end(pid_t thread) override;
  void drain(SampleSink& sink) override;
  void forked_child() override;

private:
  struct State { // replaced as a whole in a forked child
    State(bool sharp, double period) : decoder(sharp, period) {}
    std::mutex lock; // protects the ownership of rings
    bool stopped = false;
    std::vector<RegisterSample> samples; // helper thread only, like decoder
    RegisterDecoder decoder;
  };
  State* fresh_state() const { return new State(skid_.sharp(), 1e9 / rate_); }
  template <typename F> void for_each_running(F&& call);
  void switch_signal();
  void stop_sampling();

  double rate_;
  Skid skid_;
  State* state_;
};

std::string TimerSource::description() const {
  char text[320];
  int signal_number = last_signal();
  if (skid_.sharp())
    std::snprintf(
        text, sizeof text,
        "CPU time of each thread by timers (signal %d), %.0f Hz, at most once a kernel tick, "
        "blamed on the memory access before the interrupt (%u of %u test interrupts landed "
        "right behind the stalled load)",
        signal_number, rate_, skid_.next, skid_.samples);
  else
    std::snprintf(
        text, sizeof text,
        "CPU time of each thread by timers (signal %d), %.0f Hz, at most once a kernel tick, "
        "without addresses: interrupts do not land behind the stalled instruction here (%u "
        "of %u in a test)",
        signal_number, rate_, skid_.next, skid_.samples);
  if (skid_.sharp() && !can_watch_addresses())
    return std::string(text) + "; watchpoints are refused: cache or memory is not known";
  return text;
}

bool TimerSource::thread_begin(pid_t thread) {
  std::lock_guard guard(state_->lock);
  if (state_->stopped || thread != gettid()) return false;
  if (signal_is_blocked()) {
    warn_once(
        Notice::signal_blocked,
        "no access samples of thread %d and perhaps others: they begin with signal %d blocked",
        static_cast<int>(thread), last_signal());
    return false;
  }
  for (std::size_t i = 0; i < k_timer_rings; ++i) {
    TimerRing& ring = g_timer_rings[i];
    if (ring.use != RingUse::free) continue;
    if (g_timer_rings_used <= i) g_timer_rings_used = i + 1; // before the timer is armed
    ring.times = mode_times();
    int error = start_timer(ring, times_of(rate_), thread, cpu_clock_of(thread));
    if (error == 0) {
      ring.use = RingUse::running;
      return true;
    }
    warn_once(Notice::timer_refused,
              "no access samples of thread %d and perhaps others: timer: %s",
              static_cast<int>(thread), strerrordesc_np(error));
    return false;
  }
  warn_once(Notice::timers_used_up, "only %d threads at a time are sampled by timers",
            static_cast<int>(k_timer_rings));
  return false;
}

template <typename F> void TimerSource::for_each_running(F&& call) {
  TimerRing* rings = g_timer_rings;
  for (std::size_t i = 0; i < g_timer_rings_used; ++i)
    if (rings[i].use == RingUse::running) call(rings[i]);
}

void TimerSource::thread_end(pid_t thread) {
  std::lock_guard guard(state_->lock);
  for_each_running([&](TimerRing& ring) {
    if (ring.thread != thread) return;
    stop_timer(ring);
    ring.thread = 0;
    ring.use = RingUse::ended; // its samples have not been read yet
  });
}

// The program has taken the signal; time since then is not sampled.
void TimerSource::switch_signal() {
  for_each_running([](TimerRing& ring) { stop_timer(ring); });
  if (!take_signal(g_left_timer_signal)) return stop_sampling();
  for_each_running([&](TimerRing& ring) {
    const pid_t thread = ring.thread.exchange(0);
    if (start_timer(ring, times_of(rate_), thread, cpu_clock_of(thread)) != 0)
      ring.use = RingUse::ended;
  });
}

void TimerSource::stop_sampling() {
  for_each_running([](TimerRing& ring) {
    stop_timer(ring);
    ring.thread = 0;
    ring.use = RingUse::ended;
  });
  const int number = last_signal();
  g_timer_signal = 0;
  state_->stopped = true;
  warn_once(Notice::signal_taken,
            "the program took signal %d for itself, access samples end here; everything else is "
            "recorded as before",
            number);
}

void TimerSource::drain(SampleSink& sink) {
  std::uint64_t dropped = 0;
  {
    std::lock_guard guard(state_->lock);
    const int number = g_timer_signal;
    if (!state_->stopped && number == 0)
      switch_signal();
    else if (!state_->stopped && !timer_signal_is_ours(number))
      stop_sampling();
    TimerRing* rings = g_timer_rings;
    for (std::size_t i = 0; i < g_timer_rings_used; ++i) {
      RingUse use = rings[i].use;
      if (use == RingUse::free) continue;
      take_samples(rings[i], state_->samples);
      dropped += rings[i].dropped.exchange(0);
      if (use == RingUse::ended) rings[i].use = RingUse::free;
    }
  }
  state_->decoder.refresh();
  for (const RegisterSample& sample : state_->samples)
    state_->decoder.decode(sample, sink);
  sink.emulated(state_->decoder.counts());
  state_->samples.clear();
  if (dropped) sink.lost(dropped);
}

void TimerSource::forked_child() {
  // Timers are not inherited; the samples in the rings are the parent's.
  TimerRing* rings = g_timer_rings;
  for (std::size_t i = 0; i < g_timer_rings_used; ++i) {
    rings[i].armed = 0;
    rings[i].thread = 0;
    rings[i].tail = rings[i].head.load();
    rings[i].dropped = 0;
    rings[i].use = RingUse::free;
  }
  g_timers_of = getpid();
  state_ = fresh_state();
}

TimerSource::~TimerSource() {
  for_each_running([](TimerRing& ring) {
    stop_timer(ring);
    ring.use = RingUse::ended;
  });
  TimerRing* rings = g_timer_rings;
  for (std::size_t i = 0; i < g_timer_rings_used; ++i) {
    rings[i].thread = 0;
    rings[i].use = RingUse::free;
    rings[i].tail = rings[i].head.load();
  }
  give_signal_back();
  delete state_;
}

// Measures under the conditions of later samples: our signal and handler on the calling thread. The
// clock is not CPU time, whose timers tick only every 4 ms and made this take 20 ms; its interrupts
// are sharp in the same cases.
Skid measure_timer_skid() {
  TimerRing& ring = g_timer_rings[0];
  if (ring.use != RingUse::free) return {};
  // Before the timer is armed, so that a program that takes the signal finds it.
  if (g_timer_rings_used == 0) g_timer_rings_used = 1;
  // Once: a debugger stops the thread at each signal, a clock goes on meanwhile, and a timer that
  // fired again would show one place of a thread at rest many times.
  itimerspec once = times_of(k_timer_calibration_rate);
  once.it_interval = {};
  if (start_timer(ring, once, gettid(), CLOCK_MONOTONIC) != 0) return {};
  Skid skid = measure_skid(k_timer_calibration_samples, k_timer_calibration_seconds, [&] {
    std::vector<RegisterSample> samples;
    take_samples(ring, samples);
    stop_timer(ring);
    start_timer(ring, once, gettid(), CLOCK_MONOTONIC);
    return samples;
  });
  stop_timer(ring);
  ring.thread = 0;
  ring.tail = ring.head.load(); // samples of the trial are not the program's
  return skid;
}

} // namespace

std::unique_ptr<SampleSource> open_timer_source(double rate, std::string& why) {
  if (!ring_table()) {
    why = "timer: no memory for its rings";
    return nullptr;
  }
  if (!take_signal()) {
    why = "timer: the program uses every signal that could serve";
    return nullptr;
  }
  static FamilySkid family;
  const Skid skid = family.get(measure_timer_skid);
  if (!skid.known()) {
    give_signal_back();
    why = "timer: no ticks arrive here";
    return nullptr;
  }
  if (skid.sharp()) string_slowdown();
  return std::make_unique<TimerSource>(rate, skid);
}

} // namespace omptier

#else

namespace omptier {

std::unique_ptr<SampleSource> open_timer_source(double, std::string& why) {
  why = "timer: instructions are not decoded on this architecture";
  return nullptr;
}

} // namespace omptier

#endif
