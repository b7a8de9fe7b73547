// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread of our own that works beside the program until it is done or asked to stop.
#pragma once

#include <atomic>
#include <pthread.h>

namespace omptier {

// Not for several threads at once.
class OwnThread {
public:
  // work(argument) runs on a thread that may use every processor of the process; the last one must
  // have been ended. False, and nothing runs, if none can be started.
  bool begin(void (*work)(void*), void* argument);
  void ask_to_stop() { stop_.store(true, std::memory_order_relaxed); }
  // Asks it to stop and waits for its end. False: there is none.
  bool end();
  // In a forked child: the thread does not exist there.
  void forget() { runs_ = false; }
  bool runs() const { return runs_; }                     // or has ended without end()
  const std::atomic<bool>& stop() const { return stop_; } // true: work is to end soon

private:
  static void* run(void* self);

  void (*work_)(void*) = nullptr;
  void* argument_ = nullptr;
  pthread_t thread_{};
  bool runs_ = false;
  std::atomic<bool> stop_{false};
};

} // namespace omptier
