// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that are bound to processors, one each, and do slices of time together. They begin a
// slice at the same moment; each counts what it did in its own time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace omptier {

class Team {
public:
  explicit Team(const std::vector<unsigned>& cpus);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Why not all threads run where they should, or "".
  const std::string& problem() const { return problem_; }
  std::size_t size() const { return threads_.size(); }

  // Each thread calls it with its number, and all at once if they wait in begin_together().
  void run(const std::function<void(std::size_t)>& work);
  // To be called by the work, once: returns when all threads have called it.
  void begin_together();

private:
  void serve(std::size_t number, unsigned cpu);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t round_ = 0, busy_ = 0;
  bool ends_ = false;
  std::size_t arrived_ = 0; // atomically
  std::string problem_;
  std::vector<std::thread> threads_;
};

} // namespace omptier
