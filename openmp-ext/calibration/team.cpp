// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See team.hpp.
#include "calibration/team.hpp"

#include <atomic>
#include <cstring>
#include <sched.h>
#include <system_error>

namespace omptier {
namespace {

// Returns an errno number, or 0.
int bind_to(unsigned cpu) {
  cpu_set_t* const set = CPU_ALLOC(cpu + 1);
  if (set == nullptr) return ENOMEM;
  const std::size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(cpu, bytes, set);
  const int failed = ::sched_setaffinity(0, bytes, set) != 0 ? errno : 0;
  CPU_FREE(set);
  return failed;
}

} // namespace

Team::Team(const std::vector<unsigned>& cpus) {
  try {
    for (const unsigned cpu : cpus)
      threads_.emplace_back([this, number = threads_.size(), cpu] { serve(number, cpu); });
  } catch (const std::system_error& error) {
    problem_ = std::string("a thread cannot be started (") + error.what() +
               "); raise the limit on threads ('ulimit -u')";
  }
  run([](std::size_t) {}); // all are bound
}

Team::~Team() {
  {
    const std::lock_guard guard(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

void Team::run(const std::function<void(std::size_t)>& work) {
  std::unique_lock lock(mutex_);
  std::atomic_ref(arrived_).store(0);
  work_ = &work;
  busy_ = threads_.size();
  ++round_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return busy_ == 0; });
}

void Team::begin_together() {
  std::atomic_ref arrived(arrived_);
  arrived.fetch_add(1);
  while (arrived.load() < threads_.size())
    std::this_thread::yield();
}

void Team::serve(std::size_t number, unsigned cpu) {
  const int failed = bind_to(cpu);
  std::size_t done = 0;
  std::unique_lock lock(mutex_);
  if (failed != 0)
    problem_ = "a thread cannot be bound to processor " + std::to_string(cpu) + " (" +
               std::strerror(failed) + ")";
  while (true) {
    changed_.wait(lock, [&] { return ends_ || round_ != done; });
    if (ends_) return;
    done = round_;
    const auto& work = *work_;
    lock.unlock();
    work(number);
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

} // namespace omptier
