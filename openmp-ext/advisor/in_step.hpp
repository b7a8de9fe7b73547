// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a placement loses where threads stream through a divided array. The loops' times
// (model/loop_time.hpp) are of lines that come from all memories at any moment. But a thread is in
// one part of an array at a time. Were all threads in step, a loop would take the time with the
// whole array in one memory as long as they are in its part there, then the time with the whole
// array in the other:
//
//   in step = sum over memories k of (part of the lines in k) * time(whole array in k)
//
// Threads that are anywhere, each for itself, come as near to the mean as their number's root:
//
//   lost = (in step - time) / sqrt(threads) * (part of the lines that are streamed)
//
// With 4 threads, conjugate gradients' divided matrix was measured 3 % slower than with whole
// arrays, where the loops' times say 7 % faster. Scattered accesses hit all parts at once.
#pragma once

#include "advisor/placement.hpp"

#include <span>
#include <vector>

namespace omptier {

// Nanoseconds of thread time, of all divided arrays. losing: gets the first part of each that
// loses.
double lost_in_step(const Workload& workload, const std::vector<TierChoice>& tiers,
                    std::span<const std::size_t> tier_of_site,
                    std::vector<std::size_t>* losing = nullptr);

} // namespace omptier
