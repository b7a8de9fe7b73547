// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See mover_threads.hpp.
#include "placement/mover_threads.hpp"

#include "base/os.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <sched.h>

namespace omptier {
namespace {

enum class Known : unsigned char { no, being_read, yes };
std::atomic<Known> known{Known::no};
cpu_set_t at_start; // valid when known

// Those of the start, else those of the calling thread.
bool processors(cpu_set_t& set) {
  if (known.load(std::memory_order_acquire) == Known::yes) {
    set = at_start;
    return true;
  }
  return sched_getaffinity(0, sizeof set, &set) == 0;
}

struct Help {
  void (*work)(void*);
  void* argument;
};

void* help(void* given) {
  const Help& task = *static_cast<const Help*>(given);
  cpu_set_t set;
  if (processors(set)) sched_setaffinity(0, sizeof set, &set);
  ::pthread_setname_np(::pthread_self(), "omptier");
  task.work(task.argument);
  return nullptr;
}

} // namespace

void remember_mover_processors() {
  Known expected = Known::no;
  if (!known.compare_exchange_strong(expected, Known::being_read)) return;
  const bool read = sched_getaffinity(0, sizeof at_start, &at_start) == 0;
  known.store(read ? Known::yes : Known::no, std::memory_order_release);
}

unsigned mover_helpers(unsigned useful) {
  cpu_set_t set;
  if (!processors(set)) return 0;
  const unsigned count = static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  return std::min({useful, count - 1, k_most_mover_helpers});
}

void run_with_helpers(unsigned helpers, void (*work)(void*), void* argument) {
  const NotCancelled meanwhile; // the helpers use this thread's stack
  Help task{work, argument};
  pthread_t threads[k_most_mover_helpers];
  unsigned started = 0;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (started < std::min(helpers, k_most_mover_helpers) &&
         os().start_thread(&threads[started], help, &task) == 0)
    ++started;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  work(argument);
  for (unsigned i = 0; i < started; ++i)
    ::pthread_join(threads[i], nullptr);
}

} // namespace omptier
