// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See timer_signal.hpp.
#include "sampling/timer_signal.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

namespace omptier {

#if defined(__x86_64__)

constinit std::atomic<TimerRing*> g_timer_rings{nullptr};
constinit std::atomic<std::size_t> g_timer_rings_used{0};
constinit std::atomic<int> g_timer_signal{0};
constinit std::atomic<int> g_left_timer_signal{0};
constinit std::atomic<pid_t> g_timers_of{0};

namespace {

// Null if the signal is not ours.
TimerRing* ring_of(const siginfo_t* info) {
  if (info->si_code != SI_TIMER) return nullptr;
  TimerRing* rings = g_timer_rings.load(std::memory_order_relaxed);
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_value.sival_ptr);
  const auto first = reinterpret_cast<std::uintptr_t>(rings);
  if (at < first || at >= first + k_timer_rings * sizeof(TimerRing)) return nullptr;
  return (at - first) % sizeof(TimerRing) ? nullptr : rings + (at - first) / sizeof(TimerRing);
}

// Copies the top of the interrupted stack, as far as it is certainly mapped: to the end of the page
// that contains the signal frame's begin. Not if the handler runs on an alternate stack.
std::uint32_t copy_stack(std::uint64_t top, RegisterSample& sample) {
  constexpr std::uint64_t k_page = 4096, k_red_zone = 128, k_frame = 16 << 10;
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  const std::uint64_t end = ((top - k_red_zone - 1) | (k_page - 1)) + 1;
  if (top - here > k_frame || top >= end) return 0;
  const std::uint64_t bytes = std::min<std::uint64_t>(end - top, k_stack_kept);
  std::uint64_t left = bytes;
  void* to = sample.stack.data();
  // No memcpy: a sanitizer's would check whose bytes these are.
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(top), "+c"(left) : : "memory");
  return static_cast<std::uint32_t>(bytes);
}

// The part of the thread's time since its last sample that it spent in user mode. The timer counts
// the kernel's time too, and a signal sent there arrives at the next instruction of the program: a
// loop that touches new pages would seem to access memory all that time. perf leaves it out.
float user_part(TimerRing& ring) {
  const ModeTimes now = mode_times();
  const auto user = static_cast<float>(now.user - ring.times.user);
  const auto kernel = static_cast<float>(now.kernel - ring.times.kernel);
  ring.times = now;
  return user + kernel > 0 ? user / (user + kernel) : 1;
}

void fill(RegisterSample& sample, const greg_t* saved) {
  constexpr int order[k_general_registers] = {
      REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now); // vDSO: reads a page
  sample.time = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                static_cast<std::uint64_t>(now.tv_nsec);
  for (unsigned i = 0; i < k_general_registers; ++i)
    sample.general[i] = static_cast<std::uint64_t>(saved[order[i]]);
  sample.pc = static_cast<std::uint64_t>(saved[REG_RIP]);
  sample.flags = static_cast<std::uint64_t>(saved[REG_EFL]);
  sample.stack_bytes = copy_stack(sample.general[k_rsp], sample);
}

void disarm_timers(int number) {
  constexpr itimerspec k_never = {};
  TimerRing* rings = g_timer_rings.load();
  const std::size_t used = rings != nullptr ? g_timer_rings_used.load() : 0;
  for (std::size_t i = 0; i < used; ++i)
    if (rings[i].armed.load() == number) timer_settime(rings[i].timer.load(), 0, &k_never, nullptr);
}

} // namespace

ModeTimes mode_times() {
  const auto nanoseconds = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_usec) * 1000;
  };
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime)};
}

void on_timer_signal(int, siginfo_t* info, void* context) {
  int saved_errno = errno;
  TimerRing* ring = ring_of(info);
  // A late signal's ring may belong to another thread by now.
  if (ring && ring->thread.load(std::memory_order_relaxed) == gettid()) {
    const std::uint32_t head = ring->head.load(std::memory_order_relaxed);
    const float periods = user_part(*ring) * static_cast<float>(1 + std::max(0, info->si_overrun));
    if (head - ring->tail.load(std::memory_order_acquire) >= TimerRing::k_slots) {
      ring->dropped.fetch_add(1, std::memory_order_relaxed);
    } else if (periods > 0) {
      RegisterSample& sample = ring->slots[head % TimerRing::k_slots];
      fill(sample, static_cast<ucontext_t*>(context)->uc_mcontext.gregs);
      sample.thread = static_cast<std::uint32_t>(ring->thread.load(std::memory_order_relaxed));
      sample.periods = periods;
      ring->head.store(head + 1, std::memory_order_release);
    }
  }
  errno = saved_errno;
}

bool is_timer_action(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == on_timer_signal;
}

bool timer_signal_is_ours(int number) {
  struct sigaction action = {};
  return sigaction(number, nullptr, &action) == 0 && is_timer_action(action);
}

void restore_default_action(int number) {
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  sigaction(number, &action, nullptr);
  action.sa_handler = SIG_DFL;
  sigaction(number, &action, nullptr);
}

// A child made without our fork handlers has the signal's action but no timers, and may share its
// parent's memory (vfork).
bool program_asks_signal(int number, bool taken) {
  if (number == 0 || number != g_timer_signal.load() || !timer_signal_is_ours(number)) return false;
  if (!taken) return true;
  if (getpid() == g_timers_of.load()) {
    g_left_timer_signal.store(number);
    int ours = number;
    g_timer_signal.compare_exchange_strong(ours, 0);
    disarm_timers(number);
  }
  restore_default_action(number);
  return true;
}

#else

bool program_asks_signal(int, bool) {
  return false;
}

#endif

} // namespace omptier
