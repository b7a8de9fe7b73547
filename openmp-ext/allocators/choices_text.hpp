// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What OMP_DISPLAY_ENV=verbose shows of us: what each memory space means on this machine, on which
// nodes, and why; what the default allocator of OMP_ALLOCATOR asks first; the OMPTIER_* variables
// that are set.
#pragma once

#include <cstddef>

namespace omptier {

// Writes lines "name='value'", each ended by a newline, and a zero behind them; whole lines only,
// as many as fit. Returns the bytes written, 0 when nothing of ours is in use (then the machine is
// not even looked at).
std::size_t describe_choices(char* text, std::size_t size);

} // namespace omptier
