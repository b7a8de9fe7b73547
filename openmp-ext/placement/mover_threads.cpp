// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See mover_threads.hpp.
#include "placement/mover_threads.hpp"

#include "base/os.hpp"
#include "placement/own_threads.hpp"

#include <algorithm>

namespace omptier {
namespace {

struct Help {
  void (*work)(void*);
  void* argument;
};

void* help(void* given) {
  const Help& task = *static_cast<const Help*>(given);
  cpu_set_t set;
  if (processors_of_process(set)) sched_setaffinity(0, sizeof set, &set);
  ::pthread_setname_np(::pthread_self(), "omptier");
  task.work(task.argument);
  return nullptr;
}

// Has no helpers before this is set; null: has them.
__attribute__((tls_model("initial-exec"))) thread_local const std::atomic<bool>* waited_for_here =
    nullptr;

} // namespace

NoMoverHelpers::NoMoverHelpers(const std::atomic<bool>& waited_for) {
  waited_for_here = &waited_for;
}

NoMoverHelpers::~NoMoverHelpers() {
  waited_for_here = nullptr;
}

unsigned mover_helpers(unsigned useful) {
  if (waited_for_here != nullptr && !waited_for_here->load(std::memory_order_relaxed)) return 0;
  return std::min({useful, count_processors() - 1, k_most_mover_helpers});
}

void run_with_helpers(unsigned helpers, void (*work)(void*), void* argument) {
  const NotCancelled meanwhile; // the helpers use this thread's stack
  Help task{work, argument};
  pthread_t threads[k_most_mover_helpers];
  const unsigned started =
      start_own_threads(threads, std::min(helpers, k_most_mover_helpers), help, &task);
  work(argument);
  for (unsigned i = 0; i < started; ++i)
    ::pthread_join(threads[i], nullptr);
}

} // namespace omptier
