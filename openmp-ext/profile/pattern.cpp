// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each instruction votes with its bytes. A chase is told by its pointers. One step that makes up
// most of an instruction's steps is its stride; instructions with the same stride are one walk, and
// cover size/stride of what they pass: half or more is sequential. Several steps that come back
// again and again are tiles: short runs, then a jump over what other tiles hold. Anything else is
// random.
#include "profile/pattern.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace omptier {
namespace {

constexpr double k_most = 0.85;        // of an instruction's steps, for a stride
constexpr double k_regular = 0.6;      // of its steps, for tiles
constexpr double k_jumps = 0.02;       // of its steps, from one run to the next
constexpr std::int64_t k_far = 4;      // strides that make a step a jump
constexpr double k_gap = 2;            // runs that fit between the begins of two, from which tiles
constexpr std::int64_t k_run = 128;    // bytes side by side, from which a piece is a tile's row
constexpr std::int64_t k_copied = 512; // bytes an access, from which it is a copy of a piece

// Bytes side by side.
std::int64_t longest_run(const std::map<std::uint64_t, std::int64_t>& pieces) {
  std::uint64_t longest = 0, begin = 0, end = 0;
  for (const auto& [place, size] : pieces) {
    if (place > end) begin = place;
    end = std::max(end, place + static_cast<std::uint64_t>(size));
    longest = std::max(longest, end - begin);
  }
  return static_cast<std::int64_t>(longest);
}

// Runs of one stride and jumps from each to the next: does most of what lies between the begins of
// two runs stay untouched? The rows of a tile are that; the lines of a grid follow one another, and
// a row that is read again and again comes back to its begin.
bool leaves_gaps(const std::pair<double, std::int64_t>& steps,
                 const std::pair<double, std::int64_t>& jumps, double all) {
  const auto stride = double(steps.second), jump = double(jumps.second);
  if (jumps.first < k_jumps * all || std::abs(jump) < k_far * std::abs(stride)) return false;
  const double in_a_run = steps.first / jumps.first;
  const double run = (in_a_run + 1) * std::abs(stride);
  return std::abs(in_a_run * stride + jump) >= k_gap * run;
}

} // namespace

const char* name_of(PatternKind kind) {
  static constexpr const char* k_names[] = {"unknown", "sequential", "strided",
                                            "tiled",   "random",     "pointer chase"};
  return k_names[static_cast<unsigned>(kind)];
}

void PatternEvidence::add(const AccessPattern& pattern) {
  (pattern.kind == AccessKind::store ? stored_ : loaded_) += double{pattern.bytes};
  Of& of = instructions_[{pattern.pc, pattern.kind}];
  of.address = pattern.address;
  of.bytes += double{pattern.bytes};
  of.accesses += double{pattern.accesses};
  of.chased += double{pattern.chased} * double{pattern.bytes};
  if (pattern.through != 0) of.indirect += double{pattern.bytes};
  bool any = false;
  for (const AccessPattern::Stride& stride : pattern.strides) {
    if (!(stride.share > 0)) break;
    any = true;
    if (of.strides.size() < 64 || of.strides.count(stride.bytes) != 0)
      of.strides[stride.bytes] += double{pattern.accesses} * double{stride.share};
  }
  if (any) of.known += double{pattern.accesses};
}

ObjectPattern PatternEvidence::decide() const {
  struct Walk {
    double covered = 0, bytes = 0;
    std::int64_t size = 0;
    std::map<std::uint64_t, std::int64_t> pieces; // size by place within the stride
  };
  std::map<std::int64_t, Walk> walks; // by stride
  std::array<double, 6> votes{};
  const auto vote = [&](PatternKind kind, double bytes) {
    votes[static_cast<unsigned>(kind)] += bytes;
  };
  ObjectPattern decided;
  double indirect = 0;
  for (const auto& [key, of] : instructions_) {
    indirect += of.indirect;
    const auto size =
        static_cast<std::int64_t>(std::lround(of.bytes / std::max(of.accesses, 1e-9)));
    if (size >= k_copied) {
      vote(PatternKind::sequential, of.bytes);
      continue;
    }
    if (of.chased >= 0.5 * of.bytes) {
      vote(PatternKind::pointer_chase, of.bytes);
      continue;
    }
    if (of.indirect >= 0.5 * of.bytes) {
      vote(PatternKind::random, of.bytes);
      continue;
    }
    if (of.known <= 0) continue;
    std::vector<std::pair<double, std::int64_t>> order;
    double moving = of.known; // steps that lead elsewhere; staying is no pattern
    for (const auto& [stride, count] : of.strides) {
      if (stride == 0)
        moving -= count;
      else
        order.emplace_back(count, stride);
    }
    std::sort(order.rbegin(), order.rend());
    if (order.empty() || moving <= 0) continue;
    double first = order[0].first / moving, few = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), 3); ++i)
      few += order[i].first / moving;
    if (first >= k_most || (few >= k_most && first >= k_regular && order.size() > 1)) {
      if (order.size() > 1 && leaves_gaps(order[0], order[1], moving)) {
        vote(PatternKind::tiled, of.bytes);
        continue;
      }
      Walk& walk = walks[std::abs(order[0].second)];
      walk.pieces[of.address % static_cast<std::uint64_t>(std::abs(order[0].second))] = size;
      walk.covered += double(size);
      walk.bytes += of.bytes;
      walk.size = std::max(walk.size, size);
    } else {
      vote(few >= k_most ? PatternKind::tiled : PatternKind::random, of.bytes);
    }
  }
  double widest = 0;
  for (const auto& [stride, walk] : walks) {
    if (2 * walk.covered >= double(stride)) {
      vote(PatternKind::sequential, walk.bytes);
    } else if (longest_run(walk.pieces) >= k_run) {
      vote(PatternKind::tiled, walk.bytes); // a loop over a tile's row was unrolled
    } else {
      vote(PatternKind::strided, walk.bytes);
      if (walk.bytes <= widest) continue;
      widest = walk.bytes;
      const double together = std::max(1.0, std::round(walk.covered / double(walk.size)));
      decided.stride = static_cast<std::int64_t>(double(stride) / together);
    }
  }
  const auto best = std::max_element(votes.begin(), votes.end());
  if (*best > 0) decided.kind = static_cast<PatternKind>(best - votes.begin());
  if (decided.kind != PatternKind::strided) decided.stride = 0;
  decided.indirect = bytes() > 0 ? indirect / bytes() : 0;
  return decided;
}

} // namespace omptier
