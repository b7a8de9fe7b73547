// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marks a thread that is in the recorder, where it may hold locks. A handler of the program's that
// interrupts it there may map and unmap memory, and libomptier_preload.so tells of that at once: it
// is then not recorded, for it would wait for locks of its own thread. What comes by way of
// libomptier_preload.so alone is kept apart there (preload/blocks.hpp, Busy); this is for what
// comes from OpenMP.
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
