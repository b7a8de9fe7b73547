// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where perf is refused, samples come by a signal that nobody uses. A program that asks for its
// action is told the default one; before a program changes it, the recorder goes over to another
// signal, so that the program's handler never sees one of ours. Other ways to set a handler than
// sigaction and signal are noticed by the recorder later.
#include "preload/blocks.hpp"
#include "preload/record.hpp"

#include <csignal>
#include <dlfcn.h>
#include <unistd.h>

#define OMPTIER_EXPORT extern "C" __attribute__((visibility("default")))

namespace omptier::preload {
namespace {

constinit std::atomic<Sigaction> g_next_sigaction{nullptr};
constinit std::atomic<Signal> g_next_signal{nullptr};

// The recorder's, until now: it has given it up if the program takes it.
bool was_recorders(int number, bool taken) {
  if (number != SIGURG && number < SIGRTMIN) return false;
  const omptier_malloc_record* record = g_record.load(std::memory_order_acquire);
  if (record == nullptr || Busy::now()) return false;
  const KeepErrno keep;
  const Busy busy;
  return record->signal_asked(number, taken ? 1 : 0) != 0;
}

} // namespace

Sigaction next_sigaction() {
  if (g_next_sigaction.load() == nullptr)
    g_next_sigaction.store(reinterpret_cast<Sigaction>(::dlsym(RTLD_NEXT, "sigaction")));
  return g_next_sigaction.load();
}

Signal next_signal() {
  if (g_next_signal.load() == nullptr)
    g_next_signal.store(reinterpret_cast<Signal>(::dlsym(RTLD_NEXT, "signal")));
  return g_next_signal.load();
}

} // namespace omptier::preload

using namespace omptier::preload;

OMPTIER_EXPORT int sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  if (was_recorders(number, action != nullptr) && action == nullptr) {
    if (before != nullptr) *before = {};
    return 0;
  }
  return next_sigaction()(number, action, before);
}

OMPTIER_EXPORT sighandler_t signal(int number, sighandler_t handler) {
  was_recorders(number, true);
  return next_signal()(number, handler);
}
