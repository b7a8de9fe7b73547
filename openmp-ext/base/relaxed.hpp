// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value that one thread may change while others read it: accesses are relaxed atomics, never
// torn, in no guaranteed order. Reads like a plain member; a copy loads the other one once.
#pragma once

#include <atomic>

namespace omptier {

template <typename T> class Relaxed {
public:
  constexpr Relaxed(T value) : value_(value) {}
  Relaxed(const Relaxed& other) : value_(static_cast<T>(other)) {}
  Relaxed& operator=(const Relaxed& other) {
    return *this = static_cast<T>(other); // NOLINT(bugprone-unhandled-self-assignment)
  }
  Relaxed& operator=(T value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator T() const { return value_.load(std::memory_order_relaxed); }

private:
  std::atomic<T> value_;
};

} // namespace omptier
