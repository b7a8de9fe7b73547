// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The signal of the timers (timer_source.cpp): the rings that its handler writes to, and what
// happens when the program asks for that signal. Both run in signal handlers, the program's too:
// no lock, no memory, no stdio, and only system calls that may be made there, timer_settime and
// sigaction among them, not timer_create (a test looks what the object file calls).
//
// The program's way and the helper thread's never wait for each other. Whoever gives the signal to
// the program takes it out of g_timer_signal, then disarms the timers that it finds armed. Whoever
// arms a timer looks at g_timer_signal again afterwards. So no timer stays armed, and the helper
// thread, which finds no signal, goes over to another one.
#pragma once

#include "emulation/registers.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <sys/types.h>

namespace omptier {

// The program asks for the action of a signal or (taken) is about to set it. True: it is ours; the
// program is to find the default action. When taken, that is restored, and none of ours comes any
// more.
bool program_asks_signal(int number, bool taken);

#if defined(__x86_64__)

enum class RingUse : int { free, running, ended };

// One producer (the handler, on the watched thread), one consumer (the helper thread).
struct TimerRing {
  static constexpr std::uint32_t k_slots = 64; // a quarter of a second at HZ = 250
  std::atomic<std::uint32_t> head;             // samples written; wraps
  std::atomic<std::uint32_t> tail;             // samples read
  std::atomic<std::uint32_t> dropped;
  std::atomic<pid_t> thread; // 0 = nobody may write
  std::atomic<RingUse> use;  // changed under the source's lock
  std::atomic<int> armed;    // signal that the timer sends; 0 = there is no timer
  std::atomic<timer_t> timer;
  RegisterSample slots[k_slots];
};

inline constexpr std::size_t k_timer_rings = 1024; // threads watched at the same time

extern constinit std::atomic<TimerRing*> g_timer_rings;      // all of them
extern constinit std::atomic<std::size_t> g_timer_rings_used; // highest one ever taken, plus one
extern constinit std::atomic<int> g_timer_signal;            // 0 = none, or given to the program
extern constinit std::atomic<int> g_left_timer_signal;       // given to the program last
extern constinit std::atomic<pid_t> g_timers_of;             // process that the timers are of

void on_timer_signal(int, siginfo_t* info, void* context);
bool is_timer_action(const struct sigaction& action);
bool timer_signal_is_ours(int number);
void restore_default_action(int number); // also drops what is on its way

#endif

} // namespace omptier
