// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of our own that help one call to move pages, and end before it returns. Nothing of them
// is left if the process forks meanwhile: what they share lies on the stack of the caller.
#pragma once

#include <atomic>
#include <cstddef>

namespace omptier {

// How many threads help a caller that could use so many: fewer where the process has fewer
// processors, 0 where it has one.
unsigned mover_helpers(unsigned useful);

inline constexpr unsigned k_most_mover_helpers = 3;

// While one lives, its thread has no helpers until somebody waits for it.
class NoMoverHelpers {
public:
  explicit NoMoverHelpers(const std::atomic<bool>& waited_for);
  ~NoMoverHelpers();
  NoMoverHelpers(const NoMoverHelpers&) = delete;
  NoMoverHelpers& operator=(const NoMoverHelpers&) = delete;
};

// Calls work(argument) here and on so many further threads, and returns when all calls have. Work
// divides itself: threads that cannot be created are simply missing. Work must not throw.
void run_with_helpers(unsigned helpers, void (*work)(void*), void* argument);

} // namespace omptier
