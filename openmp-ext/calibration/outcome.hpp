// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From results to figures: what was measured with confidence becomes a figure of a pair of
// processors and node, the rest is named. Pure functions.
#pragma once

#include "calibration/measurement.hpp"
#include "calibration/task_list.hpp"
#include "platform/platform_file.hpp"

#include <span>
#include <string>
#include <vector>

namespace omptier {

struct PairOutcome {
  unsigned group = 0, node = 0;
  Figures figures;   // 0 = none with confidence
  double gather = 0; // bytes/s of lines at random places, by all threads
  double spread = 0; // the widest interval of what was measured, as part of its value
  std::vector<std::string> left_out; // "write bandwidth (interval 14 % wide)"
  std::string problem;               // the first reason why something has no value
};

// The two visits of a task as one result, where the first was.
std::vector<Result> both_visits(std::span<const Result> results);

// In the order in which pairs first come, of results that both_visits() gave. A figure needs both
// visits. Bandwidths count only if all processors of the group took part, without a quota: of some,
// they are those processors', not the memory's.
std::vector<PairOutcome> outcomes(std::span<const Result> results,
                                  const std::vector<CpuGroup>& groups);

// Bytes that the medium moves for one line: the largest group of lines that takes no longer than
// one. 0 = not known, also where groups do not come near the bandwidth of reading in order: then
// latency and page walks decide how long they take, not the medium. gathers: bytes/s of groups of
// 1, 4, 8 and 16 lines, 0 = not measured.
double block_of(std::span<const double> gathers, double in_order);

// The views of a platform file: pairs with any figure.
std::vector<MeasuredView> views_of(std::span<const PairOutcome> pairs,
                                   const std::vector<CpuGroup>& groups);

} // namespace omptier
