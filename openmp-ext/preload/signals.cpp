// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where perf is refused, samples come by a signal that nobody uses. A program that asks for its
// action is told the default one; before a program changes it, the recorder's timers end, so that
// the program's handler never sees one of ours, and the recorder goes over to another signal later.
// Other ways to set a handler than sigaction and signal are noticed by the recorder.
//
// Programs call these two in signal handlers: nothing here, nor in what it calls, takes a lock, or
// memory, or waits (sampling/timer_signal.hpp). What is next of their name was looked up at start.
#include "preload/blocks.hpp"
#include "preload/recording.hpp"

#include <csignal>
#include <unistd.h>

namespace omptier::preload {
namespace {

// The recorder's, until now: it has given it up if the program takes it. The recorder itself comes
// here too.
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
