// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether there are enough samples to rank the largest objects, those that together take nine
// tenths of the samples that fell on objects. Each of their shares p should be known to half of
// itself (r = 1/2) with 95 % confidence (z = 1.96). Simple random sampling needs
//
// n = z² (1 − p) / (r² p)
//
// samples for the smallest of them (W. G. Cochran, Sampling Techniques, 3rd ed. 1977, section 4.4).
// Neighbouring samples are alike, so n is a lower bound.
#pragma once

#include "analysis/aggregate.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace omptier {

struct SamplesWanted {
  std::size_t objects = 0;   // sites whose order matters
  double least_share = 0;    // of them, among all samples
  std::uint64_t samples = 0; // needed
};
SamplesWanted samples_wanted(const ProfileSummary& summary);

// For how long, or at what rate, to record, in one line; "" if samples suffice or counts are exact.
std::string too_few_samples(const ProfileSummary& summary);

} // namespace omptier
