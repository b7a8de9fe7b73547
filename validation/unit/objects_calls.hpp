// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Known call stacks for objects_test.cpp: functions compiled without frame pointers, each of which
// leads to one capture.
#pragma once

#include "objects/site.hpp"

#include <vector>

namespace calls {

using Stack = std::vector<omptier::ReturnAddress>;

// The capture as an OpenMP routine would make it: caller is its own return address.
Stack routine();
// A wrapper around it, as programs write them.
Stack wrapper();
// Two consecutive calls of the wrapper: same return address in the wrapper, same stack pointer.
void wrapper_twice(Stack& first, Stack& second);
// A recursion of the given depth before the routine is called.
Stack recursive(unsigned depth);
// A frame whose size is known only at run time (alloca): left by its frame pointer.
Stack with_dynamic_frame(unsigned bytes);
// A frame that is realigned to 64 bytes.
Stack with_aligned_frame();
// Calls back through lfind: a frame of a system library lies between.
Stack through_system_library();
// The library is the caller itself, and one frame is asked for.
Stack one_frame_from_system_library();
// Distinct frames a function of its own each.
Stack nested_four();

// Cost of one capture in nanoseconds, at the bottom of the given recursion.
double capture_cost(unsigned depth, unsigned repeats);
// The same from a dynamic frame, for the slower way.
double backtrace_cost(unsigned depth, unsigned repeats);

} // namespace calls
