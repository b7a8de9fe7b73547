// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For calls that may come in a signal handler of the program's, on a thread that holds the lock
// itself: such a thread gives up after a fifth of a second, every other one gets the lock as soon
// as its owner, which holds it for some microseconds, has had a processor. No point where a thread
// is cancelled.
#pragma once

#include <ctime>
#include <mutex>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace omptier {

// False: the lock is most likely this thread's.
inline bool lock_patiently(std::unique_lock<std::mutex>& guard) {
  constexpr unsigned k_yields = 100, k_sleeps = 200;
  for (unsigned i = 0; i < k_yields + k_sleeps; ++i) {
    if (guard.try_lock()) return true;
    constexpr timespec k_millisecond{0, 1'000'000};
    if (i < k_yields)
      sched_yield();
    else
      syscall(SYS_nanosleep, &k_millisecond, nullptr);
  }
  return false;
}

} // namespace omptier
