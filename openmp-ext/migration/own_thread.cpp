// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See own_thread.hpp.
#include "migration/own_thread.hpp"

#include "base/os.hpp"
#include "placement/own_threads.hpp"

namespace omptier {

bool OwnThread::begin(void (*work)(void*), void* argument) {
  work_ = work;
  argument_ = argument;
  stop_.store(false, std::memory_order_relaxed);
  runs_ = start_own_threads(&thread_, 1, &OwnThread::run, this) == 1;
  return runs_;
}

bool OwnThread::end() {
  if (!runs_) return false;
  const NotCancelled meanwhile; // it is joined once
  stop_.store(true, std::memory_order_relaxed);
  ::pthread_join(thread_, nullptr);
  runs_ = false;
  return true;
}

void* OwnThread::run(void* given) {
  OwnThread& self = *static_cast<OwnThread*>(given);
  cpu_set_t set;
  if (processors_of_process(set)) sched_setaffinity(0, sizeof set, &set);
  ::pthread_setname_np(::pthread_self(), "omptier");
  self.work_(self.argument_);
  return nullptr;
}

} // namespace omptier
