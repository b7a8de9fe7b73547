// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See helper_thread.hpp. Waits on a futex word of its own: pthread condition variables would have
// to be initialised again after fork.
#include "recorder/helper_thread.hpp"

#include "base/os.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace omptier {

void HelperThread::remember_processors() {
  processors_known_ = sched_getaffinity(0, sizeof processors_, &processors_) == 0;
}

bool HelperThread::start(Work work, void* argument, unsigned period_milliseconds) {
  work_ = work;
  argument_ = argument;
  period_ = period_milliseconds;
  stop_.store(false);
  soon_.store(false);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = os().start_thread(&thread_, &HelperThread::main, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return running_ = error == 0;
}

void HelperThread::stop() {
  if (!running_) return;
  stop_.store(true);
  wake();
  pthread_join(thread_, nullptr);
  running_ = false;
}

void HelperThread::wake() {
  events_.fetch_add(1);
  syscall(SYS_futex, &events_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void HelperThread::wake_soon() {
  if (!soon_.exchange(true)) wake();
}

void HelperThread::forget() {
  running_ = false;
}

void* HelperThread::main(void* self) {
  static_cast<HelperThread*>(self)->loop();
  return nullptr;
}

void HelperThread::wait(std::uint32_t events, std::uint64_t nanoseconds) {
  const timespec time{static_cast<time_t>(nanoseconds / 1'000'000'000),
                      static_cast<long>(nanoseconds % 1'000'000'000)};
  syscall(SYS_futex, &events_, FUTEX_WAIT_PRIVATE, events, &time, nullptr, 0);
}

void HelperThread::loop() {
  if (processors_known_) sched_setaffinity(0, sizeof processors_, &processors_);
  pthread_setname_np(pthread_self(), "omptier");
  const std::uint64_t period = std::uint64_t{period_} * 1'000'000;
  const std::uint64_t start = monotonic_nanoseconds();
  std::uint64_t last = 0, spent = 0; // spent: CPU time of early runs
  for (;;) {
    std::uint32_t events =
        events_.load(); // read first, so that no later wake-up is missed
    if (stop_.load()) break;
    if (!soon_.load()) wait(events, period);
    bool early = false;
    while (soon_.load() && !stop_.load()) {
      events = events_.load();
      const std::uint64_t now = monotonic_nanoseconds();
      const bool may = spent <= k_early_at_once + (now - start) / k_early_part;
      const std::uint64_t pause = may ? k_least_period : std::max(period, k_least_period);
      early = now - last < period;
      if (now - last >= pause || stop_.load()) break;
      wait(events, pause - (now - last));
    }
    if (stop_.load()) break;
    soon_.store(false); // before the work: a request meanwhile is for the next run
    const std::uint64_t before = own_cpu_nanoseconds();
    work_(argument_);
    if (early) spent += own_cpu_nanoseconds() - before;
    last = monotonic_nanoseconds();
  }
}

} // namespace omptier
