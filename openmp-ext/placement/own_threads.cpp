// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See own_threads.hpp.
#include "placement/own_threads.hpp"

#include "base/os.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>

namespace omptier {
namespace {

enum class Known : unsigned char { no, being_read, yes };
std::atomic<Known> known{Known::no};
cpu_set_t at_start; // valid when known

} // namespace

void remember_processors() {
  Known expected = Known::no;
  if (!known.compare_exchange_strong(expected, Known::being_read)) return;
  const bool read = sched_getaffinity(0, sizeof at_start, &at_start) == 0;
  known.store(read ? Known::yes : Known::no, std::memory_order_release);
}

bool processors_of_process(cpu_set_t& set) {
  if (known.load(std::memory_order_acquire) == Known::yes) {
    set = at_start;
    return true;
  }
  return sched_getaffinity(0, sizeof set, &set) == 0;
}

unsigned count_processors() {
  cpu_set_t set;
  return processors_of_process(set) ? static_cast<unsigned>(std::max(1, CPU_COUNT(&set))) : 1;
}

unsigned start_own_threads(pthread_t* threads, unsigned wanted, void* (*work)(void*),
                           void* argument) {
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
    sigdelset(&blocked, signal);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  unsigned started = 0;
  while (started < wanted && os().start_thread(&threads[started], work, argument) == 0)
    ++started;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

} // namespace omptier
