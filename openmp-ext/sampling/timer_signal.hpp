// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The timers' signal (timer_source.cpp): the rings that its handler writes to, and what happens
// when the program requests that signal. Both run in signal handlers, also the program's: no lock,
// no allocation, no stdio, and only async-signal-safe system calls such as timer_settime and
// sigaction, not timer_create (a test checks what the object file calls).
//
// The program's path and the helper thread's never wait for each other. Giving the signal to the
// program clears g_timer_signal first, then disarms the timers that are armed. Arming a timer is
// followed by another look at g_timer_signal. So no timer stays armed, and the helper thread, which
// finds no signal, switches to another one.
#pragma once

#include "emulation/registers.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <sys/types.h>

namespace omptier {

// True: the signal is ours, and the program must see the default action. taken: the program is
// about to set an action, so the default is restored and we stop sending.
bool program_asks_signal(int number, bool taken);

#if defined(__x86_64__)

enum class RingUse : int { free, running, ended };

// CPU time of a thread in nanoseconds, by mode.
struct ModeTimes {
  std::uint64_t user = 0, kernel = 0;
};
ModeTimes mode_times(); // of the calling thread

// One producer (the handler, on the watched thread), one consumer (the helper thread).
struct TimerRing {
  static constexpr std::uint32_t k_slots = 64; // a quarter of a second at HZ = 250
  std::atomic<std::uint32_t> head;             // samples written; wraps
  std::atomic<std::uint32_t> tail;             // samples read
  std::atomic<std::uint32_t> dropped;
  std::atomic<pid_t> thread; // that may write; 0 = none
  std::atomic<RingUse> use;  // changed under the source's lock
  std::atomic<int> armed;    // the timer's signal; 0 = no timer
  std::atomic<timer_t> timer;
  ModeTimes times; // of the thread, when it was last sampled
  RegisterSample slots[k_slots];
};

inline constexpr std::size_t k_timer_rings = 1024; // threads watched at a time

extern constinit std::atomic<TimerRing*> g_timer_rings;      // all rings
extern constinit std::atomic<std::size_t> g_timer_rings_used; // highest one ever taken, plus one
extern constinit std::atomic<int> g_timer_signal;            // 0 = none, or given to the program
extern constinit std::atomic<int> g_left_timer_signal;       // given to the program last
extern constinit std::atomic<pid_t> g_timers_of;             // process that owns the timers

void on_timer_signal(int, siginfo_t* info, void* context);
bool is_timer_action(const struct sigaction& action);
bool timer_signal_is_ours(int number);
void restore_default_action(int number); // also drops pending signals

#endif

} // namespace omptier
