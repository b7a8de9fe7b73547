// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fallback where perf is refused (Debian's perf_event_paranoid of 3, containers): a timer on
// each thread's CPU time, whose signal goes to that thread. The handler copies registers into the
// thread's ring and returns; the helper thread does the rest. The kernel looks at CPU-time timers
// once a tick, so no more than HZ (usually 250) samples a second come, however many are asked for;
// missed periods are counted by the kernel and go into the weight.
//
// The signal is SIGURG if nobody uses it, else the first free real-time signal: SIGURG is ignored
// by default, so a program that resets all its handlers, or a signal that arrives late, harms
// nothing, and debuggers let it pass. Before the program installs a handler of its own on our
// signal we go over to another; where that is found out too late, we step back and say so.
//
// Rings live in one reservation that is never given back: a signal may still be on its way when its
// timer is long deleted.

#include "sampling/calibrate.hpp"
#include "sampling/register_decoder.hpp"
#include "sampling/sources.hpp"

#include "base/log.hpp"
#include "base/os.hpp"
#include "base/patient_lock.hpp"

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
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)

namespace omptier {

namespace {

constexpr std::uint32_t k_slots = 64; // samples a ring holds: a quarter of a second at HZ = 250
constexpr std::size_t k_rings = 1024; // threads watched at the same time
// Five samples take 20 ms of CPU time; on a machine with much else to do ticks seldom find us.
constexpr double k_calibration_rate = 10'000, k_calibration_seconds = 0.2;
constexpr unsigned k_calibration_samples = 5;

enum class Use : int { free, running, ended };

// One producer (the handler, on the watched thread), one consumer (the helper thread).
struct TimerRing {
  std::atomic<std::uint32_t> head; // samples written; wraps
  std::atomic<std::uint32_t> tail; // samples read
  std::atomic<std::uint32_t> dropped;
  std::atomic<pid_t> thread; // 0 = nobody may write
  std::atomic<Use> use;      // changed under the source's lock
  timer_t timer;
  RegisterSample slots[k_slots];
};

TimerRing* rings = nullptr; // reserved once a process
std::atomic<int> our_signal = 0;

TimerRing* ring_table() {
  static TimerRing* const table = [] {
    void* mapped = os().map(nullptr, k_rings * sizeof(TimerRing), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapped == MAP_FAILED ? nullptr : static_cast<TimerRing*>(mapped); // zeros: all free
  }();
  return rings = table;
}

// The ring a signal speaks of, if it is one of ours.
TimerRing* ring_of(const siginfo_t* info) {
  if (info->si_code != SI_TIMER) return nullptr;
  auto at = reinterpret_cast<std::uintptr_t>(info->si_value.sival_ptr);
  auto first = reinterpret_cast<std::uintptr_t>(rings);
  if (at < first || at >= first + k_rings * sizeof(TimerRing)) return nullptr;
  return (at - first) % sizeof(TimerRing) ? nullptr : rings + (at - first) / sizeof(TimerRing);
}

// The top of the interrupted stack, from memory that is certainly there: the rest of the page that
// the signal's frame begins in. A handler on a stack of its own knows nothing of the other.
std::uint32_t copy_stack(std::uint64_t top, RegisterSample& sample) {
  constexpr std::uint64_t k_page = 4096, k_red_zone = 128, k_frame = 16 << 10;
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  const std::uint64_t end = ((top - k_red_zone - 1) | (k_page - 1)) + 1;
  if (top - here > k_frame || top >= end) return 0;
  const std::uint64_t bytes = std::min<std::uint64_t>(end - top, k_stack_kept);
  std::uint64_t left = bytes;
  void* to = sample.stack.data();
  // No memcpy: sanitizers would look at whose bytes these are.
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(top), "+c"(left) : : "memory");
  return static_cast<std::uint32_t>(bytes);
}

void on_timer(int, siginfo_t* info, void* context) {
  int saved_errno = errno;
  TimerRing* ring = ring_of(info);
  // A late signal may find its ring in another thread's hands.
  if (ring && ring->thread.load(std::memory_order_relaxed) == gettid()) {
    std::uint32_t head = ring->head.load(std::memory_order_relaxed);
    if (head - ring->tail.load(std::memory_order_acquire) < k_slots) {
      const greg_t* saved = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
      constexpr int order[k_general_registers] = {
          REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
          REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
      RegisterSample& sample = ring->slots[head % k_slots];
      timespec now;
      clock_gettime(CLOCK_MONOTONIC, &now); // reads a page, calls nobody
      sample.time = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                    static_cast<std::uint64_t>(now.tv_nsec);
      for (unsigned i = 0; i < k_general_registers; ++i)
        sample.general[i] = static_cast<std::uint64_t>(saved[order[i]]);
      sample.pc = static_cast<std::uint64_t>(saved[REG_RIP]);
      sample.flags = static_cast<std::uint64_t>(saved[REG_EFL]);
      sample.stack_bytes = copy_stack(sample.general[k_rsp], sample);
      sample.thread = static_cast<std::uint32_t>(ring->thread.load(std::memory_order_relaxed));
      sample.periods = 1 + static_cast<std::uint32_t>(info->si_overrun > 0 ? info->si_overrun : 0);
      ring->head.store(head + 1, std::memory_order_release);
    } else {
      ring->dropped.fetch_add(1, std::memory_order_relaxed);
    }
  }
  errno = saved_errno;
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == on_timer;
}

// Takes the first signal that has the default action. 0 = none is free.
int take_signal(int but_not = 0) {
  auto take = [=](int number) {
    struct sigaction action = {};
    if (number == but_not) return false;
    if (sigaction(number, nullptr, &action) != 0) return false;
    if (is_ours(action)) return true;
    if ((action.sa_flags & SA_SIGINFO) || action.sa_handler != SIG_DFL) return false;
    struct sigaction ours = {};
    ours.sa_sigaction = on_timer;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&ours.sa_mask);
    return sigaction(number, &ours, nullptr) == 0;
  };
  if (take(SIGURG)) return SIGURG;
  for (int number = SIGRTMIN + 4; number < SIGRTMAX; ++number)
    if (take(number)) return number;
  return 0;
}

bool signal_is_still_ours(int number) {
  struct sigaction action = {};
  return sigaction(number, nullptr, &action) == 0 && is_ours(action);
}

void give_signal_back() {
  if (!signal_is_still_ours(our_signal)) return;
  signal(our_signal, SIG_IGN); // drops what is on its way
  signal(our_signal, SIG_DFL);
}

// The clock of CLOCK_THREAD_CPUTIME_ID for any thread, as the kernel numbers them.
clockid_t cpu_clock_of(pid_t thread) {
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | 6u);
}

// A timer on a thread's CPU time, or on another clock. 0 or errno.
int start_timer(TimerRing& ring, double rate, pid_t thread, clockid_t clock) {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = our_signal;
  event.sigev_value.sival_ptr = &ring;
  event._sigev_un._tid = thread;
  if (timer_create(clock, &event, &ring.timer) != 0) return errno;
  ring.thread = thread;
  auto period = static_cast<long>(1e9 / rate);
  itimerspec times = {};
  times.it_interval = {period / 1'000'000'000, period % 1'000'000'000};
  times.it_value = times.it_interval;
  if (timer_settime(ring.timer, 0, &times, nullptr) == 0) return 0;
  int error = errno;
  timer_delete(ring.timer);
  ring.thread = 0;
  return error;
}

// A thread that has it blocked would get no samples, but find the signal in its sigwait.
bool signal_is_blocked() {
  sigset_t blocked;
  return pthread_sigmask(SIG_BLOCK, nullptr, &blocked) == 0 &&
         sigismember(&blocked, our_signal) == 1;
}

void take_samples(TimerRing& ring, std::vector<RegisterSample>& samples) {
  std::uint32_t tail = ring.tail.load(std::memory_order_relaxed);
  std::uint32_t head = ring.head.load(std::memory_order_acquire);
  for (; tail != head; ++tail)
    samples.push_back(ring.slots[tail % k_slots]);
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
  bool uses_signal(int number) const override { return number == our_signal; }
  void give_signal_up() override;

private:
  struct State { // replaced as a whole in a forked child
    State(bool sharp, double period) : decoder(sharp, period) {}
    std::mutex lock;            // who owns which ring
    std::size_t rings_used = 0; // highest number of a ring ever taken, plus one
    bool stepped_back = false;
    std::vector<RegisterSample> samples; // helper thread only, as decoder
    RegisterDecoder decoder;
  };
  State* fresh_state() const { return new State(skid_.sharp(), 1e9 / rate_); }
  void step_back();

  double rate_;
  Skid skid_;
  State* state_;
};

std::string TimerSource::description() const {
  char text[320];
  int signal_number = our_signal;
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
  if (state_->stepped_back || thread != gettid()) return false;
  if (signal_is_blocked()) {
    warn_once(
        Notice::signal_blocked,
        "no access samples of thread %d and perhaps others: they begin with signal %d blocked",
        static_cast<int>(thread), our_signal.load());
    return false;
  }
  for (std::size_t i = 0; i < k_rings; ++i) {
    TimerRing& ring = rings[i];
    if (ring.use != Use::free) continue;
    int error = start_timer(ring, rate_, thread, cpu_clock_of(thread));
    if (error == 0) {
      ring.use = Use::running;
      state_->rings_used = std::max(state_->rings_used, i + 1);
      return true;
    }
    warn_once(Notice::timer_refused,
              "no access samples of thread %d and perhaps others: timer: %s",
              static_cast<int>(thread), strerrordesc_np(error));
    return false;
  }
  warn_once(Notice::timers_used_up, "only %d threads at a time are sampled by timers",
            static_cast<int>(k_rings));
  return false;
}

void TimerSource::thread_end(pid_t thread) {
  std::lock_guard guard(state_->lock);
  for (std::size_t i = 0; i < state_->rings_used; ++i) {
    TimerRing& ring = rings[i];
    if (ring.use != Use::running || ring.thread != thread) continue;
    timer_delete(ring.timer);
    ring.thread = 0;
    ring.use = Use::ended; // what it holds is still to be read
    return;
  }
}

void TimerSource::step_back() {
  for (std::size_t i = 0; i < state_->rings_used; ++i) {
    if (rings[i].use != Use::running) continue;
    timer_delete(rings[i].timer);
    rings[i].thread = 0;
    rings[i].use = Use::ended;
  }
  state_->stepped_back = true;
  warn_once(Notice::signal_taken,
            "the program took signal %d for itself, access samples end here; everything else is "
            "recorded as before",
            our_signal.load());
}

void TimerSource::give_signal_up() {
  std::unique_lock guard(state_->lock, std::defer_lock);
  if (!lock_patiently(guard) || state_->stepped_back) return;
  for (std::size_t i = 0; i < state_->rings_used; ++i)
    if (rings[i].use == Use::running) timer_delete(rings[i].timer);
  const int wanted = our_signal;
  give_signal_back();
  our_signal = take_signal(wanted);
  for (std::size_t i = 0; i < state_->rings_used; ++i) {
    TimerRing& ring = rings[i];
    if (ring.use != Use::running) continue;
    const pid_t thread = ring.thread.exchange(0);
    if (our_signal == 0 || start_timer(ring, rate_, thread, cpu_clock_of(thread)) != 0)
      ring.use = Use::ended;
  }
  if (our_signal != 0) return;
  our_signal = wanted;
  step_back();
}

void TimerSource::drain(SampleSink& sink) {
  std::uint64_t dropped = 0;
  {
    std::lock_guard guard(state_->lock);
    if (!state_->stepped_back && !signal_is_still_ours(our_signal)) step_back();
    for (std::size_t i = 0; i < state_->rings_used; ++i) {
      Use use = rings[i].use;
      if (use == Use::free) continue;
      take_samples(rings[i], state_->samples);
      dropped += rings[i].dropped.exchange(0);
      if (use == Use::ended) rings[i].use = Use::free;
    }
  }
  state_->decoder.refresh();
  for (const RegisterSample& sample : state_->samples)
    state_->decoder.decode(sample, sink);
  state_->samples.clear();
  if (dropped) sink.lost(dropped);
}

void TimerSource::forked_child() {
  // Timers are not inherited; the parent's samples are the parent's.
  for (std::size_t i = 0; i < state_->rings_used; ++i) {
    rings[i].thread = 0;
    rings[i].tail = rings[i].head.load();
    rings[i].dropped = 0;
    rings[i].use = Use::free;
  }
  state_ = fresh_state();
}

TimerSource::~TimerSource() {
  for (std::size_t i = 0; i < state_->rings_used; ++i) {
    if (rings[i].use == Use::running) timer_delete(rings[i].timer);
    rings[i].thread = 0;
    rings[i].use = Use::free;
    rings[i].tail = rings[i].head.load();
  }
  give_signal_back();
  delete state_;
}

// The same way that samples will come later: our signal, our handler, on the calling thread. Timers
// on CPU time tick at the kernel's 4 ms only, which made the trial last 20; the clock's own
// interrupt is as sharp or not.
Skid measure_timer_skid() {
  TimerRing& ring = rings[0];
  if (ring.use != Use::free ||
      start_timer(ring, k_calibration_rate, gettid(), CLOCK_MONOTONIC) != 0)
    return {};
  Skid skid = measure_skid(k_calibration_samples, k_calibration_seconds, [&] {
    std::vector<RegisterSample> samples;
    take_samples(ring, samples);
    return samples;
  });
  timer_delete(ring.timer);
  ring.thread = 0;
  ring.tail = ring.head.load(); // what came last is no sample of the program
  return skid;
}

} // namespace

std::unique_ptr<SampleSource> open_timer_source(double rate, std::string& why) {
  if (!ring_table()) {
    why = "timer: no memory for its rings";
    return nullptr;
  }
  our_signal = take_signal();
  if (!our_signal) {
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
