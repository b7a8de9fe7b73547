// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Call stacks of allocations and parallel regions, from .eh_frame: default -O2 code has no frame
// pointers. Every capture walks the stack as it is now; what is cached is only how each call
// instruction's frame is left (its unwind rule), so two calls are told apart whatever they share.
// A fraction of a microsecond for eight frames once the rules are known (a fifteenth of
// _Unwind_Backtrace); no malloc, no lock then.
#pragma once

#include "objects/site.hpp"

namespace omptier {

// Writes at most max return addresses, innermost first, and returns how many (at least 1). The
// first is caller, the return address of the OpenMP routine or construct in the program, which
// makes the frames between this function and the program fall away. Frames of system libraries are
// dropped (if nothing would be left, caller is kept). The walk ends at the OpenMP runtime: what a
// region's threads allocate has the same site on the primary thread and on the workers. If caller
// is not found on the stack, or cannot be unwound, the result is caller alone. Thread-safe.
unsigned capture_stack(const void* caller, ReturnAddress* out, unsigned max);

// OMPTIER_DEPTH: frames to keep, 1 to k_max_frames.
unsigned frames_to_keep();

} // namespace omptier
