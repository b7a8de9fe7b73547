// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where perf is refused, samples come by a signal that the program does not use. A program that
// queries its action gets the default one. Before a program changes it, the recorder's timers end,
// so that the program's handler never gets a signal of ours, and the recorder changes to another
// signal later. The recorder notices handlers set by other means than sigaction and signal.
//
// Programs call these two in signal handlers: nothing here, nor in what it calls, takes a lock,
// allocates or waits (sampling/timer_signal.hpp). The next functions were looked up at start.
#include "preload/blocks.hpp"
#include "preload/recording.hpp"

#include <csignal>
#include <unistd.h>

namespace omptier::preload {
namespace {

// If the signal was the recorder's, returns true; if the program takes it, the recorder gives it
// up. The recorder itself calls this too.
bool was_recorders(int number, bool taken, const void* caller) {
  if (number != SIGURG && number < SIGRTMIN) return false;
  const omptier_malloc_record* record = g_record.load(std::memory_order_acquire);
  if (record == nullptr || is_recorder(caller)) return false;
  const KeepErrno keep;
  return record->signal_asked(number, taken ? 1 : 0) != 0;
}

} // namespace

constinit Next<int(int, const struct sigaction*, struct sigaction*)> next_sigaction{"sigaction"};
constinit Next<sighandler_t(int, sighandler_t)> next_signal{"signal"};

} // namespace omptier::preload

using namespace omptier::preload;

OMPTIER_EXPORT int sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  if (was_recorders(number, action != nullptr, __builtin_return_address(0)) && action == nullptr) {
    if (before != nullptr) *before = {};
    return 0;
  }
  return next_sigaction()(number, action, before);
}

OMPTIER_EXPORT sighandler_t signal(int number, sighandler_t handler) {
  was_recorders(number, true, __builtin_return_address(0));
  return next_signal()(number, handler);
}
