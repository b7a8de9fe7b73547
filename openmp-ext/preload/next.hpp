// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What intercepting functions need: to be exported, and to find the next function of their name. A
// look-up takes the loader's lock and may allocate.
#pragma once

#include <atomic>
#include <dlfcn.h>

#define OMPTIER_EXPORT extern "C" __attribute__((visibility("default")))

namespace omptier::preload {

// Leaves the pointer unchanged if there is no such function.
template <typename F> void look_up(F*& function, const char* name, void* where = RTLD_NEXT) {
  if (void* found = ::dlsym(where, name)) function = reinterpret_cast<F*>(found);
}

// Looked up at its first use. Thread-safe.
template <typename F> class Next {
public:
  explicit constexpr Next(const char* name) : name_(name) {}

  F* operator()() {
    F* function = function_.load(std::memory_order_relaxed);
    if (function == nullptr) {
      look_up(function, name_);
      function_.store(function, std::memory_order_relaxed);
    }
    return function;
  }

private:
  const char* name_;
  std::atomic<F*> function_{nullptr};
};

} // namespace omptier::preload
