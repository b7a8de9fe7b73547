// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop's pace from addresses. An emulated sample is a window of some of a loop's iterations: it
// shows each stream's step, what the loop accesses beside it, and where in its object the stream
// was. Between two windows of one thread in one run of a region (or in the time between two) the
// stream has advanced by so many mean steps. This needs no counters in registers, so it holds for
// nests and for loops that count on the stack, where a run has several windows. It does not for
// samples by timers: at equal distances, equal sweeps show what a stroboscope does.
//
//   - A nest of loops has one pace (loop_windows.hpp): each of them has some of the time.
//   - The time between two windows is the loop's part of the thread's samples in between. Where the
//     kernel takes its part of it in most pairs (first touch), the clock's time is corrected by it;
//     pairs with much more (waiting) do not count.
//   - A mean step that varies between windows (jumps at the ends of rows) widens the interval.
//   - Streams of one window must agree, else one of them began anew. So must pairs, as those of
//     registers (loop_rates.hpp).
//   - Where threads take turns in an array, as in dynamic schedules, a stream's advance is that of
//     all threads together: then there is no pace. Nor if a stream has a time of its own, while the
//     nest's other windows are of other times: they call one function, which joined them.
#pragma once

#include "analysis/loop_rates.hpp"
#include "analysis/loop_windows.hpp"
#include "log/reader.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace omptier {

struct AdvanceRates {
  std::vector<std::uint32_t> nests; // of each sample; 0 = none known
  // By nest and site. Value 0: many pairs were seen, but disagree.
  std::map<std::pair<std::uint32_t, std::uint32_t>, LoopRate> rates;
};

// Where a pattern's address lies.
struct ObjectOfSite {
  static constexpr std::uint64_t k_unknown = ~std::uint64_t{0}; // Place::k_none
  std::uint64_t object = k_unknown;
  std::uint32_t site = 0;
};

// runs: of each sample. objects: of each pattern.
AdvanceRates advance_rates(const Profile& profile, std::span<const RegionRun> runs,
                           std::span<const ObjectOfSite> objects);

} // namespace omptier
