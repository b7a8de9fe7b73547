// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Call stacks of allocations and parallel regions, from .eh_frame, since default -O2 code has no
// frame pointers. Only the unwind rule of each call instruction's frame is cached, never a stack,
// so different stacks are never confused. With cached rules, eight frames take a fraction of a
// microsecond (a fifteenth of _Unwind_Backtrace), no malloc, no lock.
#pragma once

#include "objects/site.hpp"

namespace omptier {

// Where a walk met the OpenMP runtime before any frame of the program.
struct RuntimeMet {
  ReturnAddress at = 0;     // the runtime's return address; 0: it was not met
  ReturnAddress called = 0; // return address of the function that the runtime called
};

// Writes up to max return addresses of the program, innermost first, and returns how many (at least
// 1). The first is caller, the return address of the OpenMP routine or construct. Drops system
// libraries (unless none would be left); stops at the OpenMP runtime, so that workers and primary
// thread share sites. If caller is not on the stack, or cannot be unwound: caller alone.
// met: set where there is one, else left as it is. Thread-safe.
unsigned capture_stack(const void* caller, ReturnAddress* out, unsigned max,
                       RuntimeMet* met = nullptr);

// The same for code that the OpenMP runtime calls on the program's behalf: the first is the return
// address of the routine or construct that the program called.
unsigned capture_stack_below_runtime(ReturnAddress* out, unsigned max);

// A return address and how many bytes above the first one's place on the stack it lies.
struct StackWord {
  ReturnAddress code = 0;
  std::uint32_t above = 0;
  bool own = false; // capture_stack would keep it
};

// The same walk, for recognising a call by its stack alone: every return address from caller on, up
// to max_own of the program's own, and one more if there are fewer. It ends before a word whose
// place may vary so far from call to call that reading there would be unsafe. Returns how many
// words; 0 where there are none (no x86-64, caller is not on the stack). Thread-safe.
unsigned capture_words(const void* caller, StackWord* out, unsigned room, unsigned max_own);

// OMPTIER_DEPTH: frames to keep, 1 to k_max_frames.
unsigned frames_to_keep();

} // namespace omptier
