// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The moves of a plan where libomp reports parallel regions and barriers. Barriers are reported
// only while the plan in use names some: nothing else would be as cheap for all other programs.
#pragma once

#include <cstdint>

namespace omptier {

void hook_region_begin(const void* codeptr, std::uint32_t threads);
void hook_region_end(const void* codeptr);

// To be called when there is a plan, when there is a runtime, and in a forked child.
void listen_at_barriers();

} // namespace omptier
