// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one thread of our own in the recorded process: wakes every few milliseconds and calls a
// function. All signals are blocked in it, it may run on every processor the process was started
// with, and it does not survive fork (the child starts its own).
#pragma once

#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <sched.h>

namespace omptier {

class HelperThread {
public:
  using Work = void (*)(void*);

  // To be called before threads are bound to single processors.
  void remember_processors();
  // False and errno without a thread.
  bool start(Work work, void* argument, unsigned period_milliseconds);
  // Runs the work now, not at the next period; ignored while it runs. Any thread; one system call.
  void wake();
  // Runs the work k_least_period after its last run, or at the next period once early runs have
  // cost 20 ms of CPU time and a fiftieth of the run. Never ignored.
  void wake_soon();
  // Waits for the thread's end; the work is not called any more.
  void stop();
  // In the child after fork, where the thread does not exist.
  void forget();

private:
  static constexpr std::uint64_t k_least_period = 5'000'000; // nanoseconds
  static constexpr std::uint64_t k_early_at_once = 20'000'000, k_early_part = 50;

  static void* main(void* self);
  void loop();
  // Until woken, or for so many nanoseconds.
  void wait(std::uint32_t events, std::uint64_t nanoseconds);

  Work work_ = nullptr;
  void* argument_ = nullptr;
  unsigned period_ = 50;
  pthread_t thread_{};
  bool running_ = false;
  std::atomic<std::uint32_t> events_{0}; // futex: how often it was woken
  std::atomic<bool> stop_{false}, soon_{false};
  cpu_set_t processors_{};
  bool processors_known_ = false;
};

} // namespace omptier
