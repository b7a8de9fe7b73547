// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A source of samples for tests of the recorder: hands out what the test put in, and keeps what the
// recorder told it.
#pragma once

#include "base/os.hpp"
#include "sampling/source.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <string>
#include <vector>

class MadeUpSource final : public omptier::SampleSource {
public:
  const char* name() const override { return "fake"; }
  omptier::Measure measure() const override { return omptier::Measure::misses; }
  double worst_error() const override { return 0.02; }
  std::string description() const override { return "made up"; }
  bool thread_begin(pid_t thread) override {
    last_begun = thread;
    return true;
  }
  void thread_end(pid_t thread) override { last_ended = thread; }
  void forked_child() override { forked = true; }
  void drain(omptier::SampleSink& sink) override {
    if (short_of_memory) throw std::bad_alloc();
    const std::lock_guard<std::mutex> guard(mutex_);
    for (const omptier::AccessSample& sample : waiting_)
      sink.sample(sample);
    waiting_.clear();
    if (const std::uint64_t samples = lose.exchange(0); samples > 0) sink.lost(samples);
  }

  void add(const omptier::AccessSample& sample) {
    const std::lock_guard<std::mutex> guard(mutex_);
    waiting_.push_back(sample);
  }
  void add(const void* address) {
    omptier::AccessSample sample;
    sample.time = omptier::monotonic_nanoseconds();
    sample.address = reinterpret_cast<std::uintptr_t>(address);
    add(sample);
  }
  bool is_drained() {
    const std::lock_guard<std::mutex> guard(mutex_);
    return waiting_.empty();
  }

  std::atomic<std::uint64_t> lose{0}; // samples, at the next drain
  std::atomic<pid_t> last_begun{0}, last_ended{0};
  std::atomic<bool> short_of_memory{false};
  bool forked = false;

private:
  std::mutex mutex_;
  std::vector<omptier::AccessSample> waiting_;
};
