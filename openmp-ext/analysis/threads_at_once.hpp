// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many threads a program used at once, by its samples: OpenMP's regions count their threads,
// but std::thread and pthreads do not. A thread counts from its first sample to its last, if it
// took at least a tenth of the busiest thread's time.
#pragma once

#include "log/records.hpp"

#include <cstdint>
#include <span>

namespace omptier {

// At least 1.
std::uint32_t threads_at_once(std::span<const LoggedSample> samples);

} // namespace omptier
