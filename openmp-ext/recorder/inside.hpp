// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marks a thread that is in the recorder, where it may hold locks. A signal handler of the program
// that interrupts it there may map and unmap memory, which libomptier_preload.so reports at once:
// that is not recorded, because it would wait for locks of its own thread. Calls that come only
// through libomptier_preload.so are kept apart there (preload/blocks.hpp, Busy); this is for calls
// from OpenMP.
#pragma once

namespace omptier {

class Inside {
public:
  Inside() { ++depth_; }
  ~Inside() { --depth_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  static bool now() { return depth_ != 0; }

private:
  __attribute__((tls_model("initial-exec"))) static thread_local unsigned depth_;
};

} // namespace omptier
