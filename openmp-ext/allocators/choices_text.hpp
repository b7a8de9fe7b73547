// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Our part of OMP_DISPLAY_ENV=verbose: what each memory space means on this machine, on which
// nodes, and why; the first tier of OMP_ALLOCATOR's allocator; the OMPTIER_* variables set.
#pragma once

#include <cstddef>

namespace omptier {

// Writes lines "name='value'", each ended by a newline, and a terminating zero; whole lines only.
// Returns the bytes written; 0 when nothing of ours is in use: then nothing is discovered for it.
std::size_t describe_choices(char* text, std::size_t size);

} // namespace omptier
