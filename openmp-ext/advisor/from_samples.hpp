// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the samples' intervals leave open of a predicted time. Each site's demand is known as well
// as its share: at either end of its interval, the model gives another time. Sites are sampled
// independently, so the square of the interval's half is the sum of the squares of theirs. The
// model's own error, which no sample tells, is not in it (Gain has it).
#pragma once

#include "advisor/advice.hpp"

#include <functional>

namespace omptier {

struct Range {
  double value = 0, low = 0, high = 0;
};

// The workload with a site's accesses, not its bytes, so many times; site: of the summary.
Workload with_demand(Workload workload, std::size_t site, double factor);

// A figure with the interval of the sites with the widest: of all, unless there are very many.
// of: the figure if a site of the summary has so many times the accesses.
using FigureOf = std::function<double(std::size_t site, double factor)>;
Range from_samples(const Workload& workload, const FigureOf& of);

// How many times as fast as everything in the slowest tier; of waits, where the profile does not
// tell time.
Range speed_up_from_samples(const Advice& advice);

// Nanoseconds of thread time that the other advice takes more.
Range price_from_samples(const Advice& advice, const Advice& other);

} // namespace omptier
