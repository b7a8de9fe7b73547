// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See helper_thread.hpp. Waits on a futex word of its own: pthread condition variables would have
// to be made anew after fork.
#include "ompt/helper_thread.hpp"

#include "base/os.hpp"

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
  stop_.store(0);
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
  stop_.store(1, std::memory_order_release);
  syscall(SYS_futex, &stop_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  pthread_join(thread_, nullptr);
  running_ = false;
}

void HelperThread::wake() {
  syscall(SYS_futex, &stop_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void HelperThread::forget() {
  running_ = false;
}

void* HelperThread::main(void* self) {
  static_cast<HelperThread*>(self)->loop();
  return nullptr;
}

void HelperThread::loop() {
  if (processors_known_) sched_setaffinity(0, sizeof processors_, &processors_);
  pthread_setname_np(pthread_self(), "omptier");
  const timespec period{period_ / 1000, static_cast<long>(period_ % 1000) * 1000000};
  while (stop_.load(std::memory_order_acquire) == 0) {
    syscall(SYS_futex, &stop_, FUTEX_WAIT_PRIVATE, 0, &period, nullptr, 0);
    if (stop_.load(std::memory_order_acquire) == 0) work_(argument_);
  }
}

} // namespace omptier
