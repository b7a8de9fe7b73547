// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each instruction votes with its bytes. Pointers show a chase. A step that makes up most of an
// instruction's steps is its stride; instructions with the same stride are one walk, and cover
// size/stride of what they pass: half or more is sequential. Instructions that ran seldom beside
// the others (an array was filled once) count in that proportion. Several steps that repeat are
// tiles: short runs, then a jump over what other tiles hold. Few far jumps, again and again, lead
// from array to array that an instruction serves in turn: those say nothing. Short runs at places
// that follow no rule are over before a prefetcher has seen them. A loop that has one stride while
// it runs and another the next time (the passes of a transform) is strided. Anything else is
// random, too. What is read again and again in one place (an operand of the outer loop) says
// little: only the steps that lead elsewhere vote.
#include "analysis/object_pattern.hpp"

#include "model/demand.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace omptier {
namespace {

constexpr double k_other = 0.2;        // of the bytes, that make an object's patterns mixed
constexpr double k_most = 0.85;        // of an instruction's steps, for a stride
constexpr double k_regular = 0.6;      // of its steps, for tiles
constexpr double k_moves = 0.02;   // of its steps, that lead elsewhere; of fewer, a stride counts
constexpr double k_hardly = 0.002; // of its steps: not even that
constexpr unsigned k_again = 3;    // runs of a loop with the same stride
constexpr double k_jumps = 0.02;       // of its steps, from one run to the next
constexpr std::int64_t k_far = 4;      // strides that make a step a jump
constexpr double k_some = 0.004;       // of its steps, from which jumps are seen at all
constexpr double k_longest = 4096;     // bytes of a tile's row
constexpr double k_read_again = 1024;  // bytes of one that is read again and again
constexpr double k_parts = 4;          // rows in what an instruction accesses: tiles, not one row
constexpr double k_filled = 0.5;       // of what lies between the begins of two runs: no tiles
constexpr double k_rule = 0.5;         // of the jumps, that go one way
constexpr double k_short = 4;          // lines of a run
constexpr double k_in_company = 0.2;   // of the most frequent jump, for the others
constexpr double k_of_jumps = 0.9;     // of the jumps
constexpr std::size_t k_most_in_turn = 9;
constexpr double k_between_arrays = 256 << 10; // bytes; rows of a tile are closer
constexpr double k_widest = 0x1p62;    // bytes
constexpr std::size_t k_places = 32;   // kept of an instruction
constexpr std::int64_t k_run = 128;    // bytes side by side, from which a piece is a tile's row
constexpr std::int64_t k_copied = 512; // bytes an access, from which it is a copy of a piece

struct Walk {
  struct Piece {             // what one accesses
    std::uint64_t place = 0; // within the stride
    std::int64_t size = 0;
    double accesses = 0;
  };
  double bytes = 0;
  std::vector<Piece> pieces;
  std::vector<std::pair<std::uint64_t, AccessKind>> of; // the instructions

  // Relative to the busiest; pieces of one loop differ only by sampling error.
  double weight(const Piece& piece) const {
    const double most = std::ranges::max(pieces, {}, &Piece::accesses).accesses;
    return most > 0 ? std::min(1.0, 2 * piece.accesses / most) : 1;
  }
  // Bytes of a stride. A place that is loaded and stored counts once.
  double covered() const {
    std::map<std::uint64_t, double> sizes; // by place
    for (const Piece& piece : pieces) {
      double& there = sizes[piece.place];
      there = std::max(there, weight(piece) * double(piece.size));
    }
    return std::accumulate(sizes.begin(), sizes.end(), 0.0,
                           [](double sum, const auto& one) { return sum + one.second; });
  }
  // [begin, end) of adjacent bytes, in order.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> runs() const {
    std::map<std::uint64_t, std::int64_t> sizes; // by place
    for (const Piece& piece : pieces)
      if (weight(piece) >= 0.5) sizes[piece.place] = std::max(sizes[piece.place], piece.size);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
    for (const auto& [place, bytes_there] : sizes) {
      if (all.empty() || place > all.back().second) all.emplace_back(place, place);
      const std::uint64_t end = place + static_cast<std::uint64_t>(bytes_there);
      all.back().second = std::max(all.back().second, end);
    }
    return all;
  }
  std::int64_t longest_run() const {
    std::uint64_t longest = 0;
    for (const auto& [begin, end] : runs())
      longest = std::max(longest, end - begin);
    return static_cast<std::int64_t>(longest);
  }
  // For an unrolled loop: the step inside its stride, if the runs repeat with it. Fields at uneven
  // places in a structure do not.
  std::int64_t step(std::int64_t stride) const {
    const auto all = runs();
    const auto repeats = [&](std::size_t parts) {
      const std::size_t in_a_part = all.size() / parts;
      for (std::size_t i = in_a_part; i < all.size(); ++i)
        if (all[i].first - all[i - in_a_part].first != static_cast<std::uint64_t>(stride) / parts)
          return false;
      return true;
    };
    for (std::size_t parts = all.size(); parts > 1; --parts)
      if (all.size() % parts == 0 && stride % static_cast<std::int64_t>(parts) == 0 &&
          repeats(parts))
        return stride / static_cast<std::int64_t>(parts);
    return stride;
  }
};

// An instruction that accesses runs of one stride and jumps from each to the next.
struct PeriodicRuns {
  std::int64_t period = 0; // from the begin of one run to the next
  double length = 0;       // of a run, bytes
};

// A loop whose stride differs between its runs, but not within one: the median stride. A stride
// counts if it was seen more often than chance (runs of two accesses have any) would have it.
template <class Steady>
std::optional<std::int64_t> median_of_strides(const Steady& strides, double all) {
  std::vector<std::pair<std::int64_t, double>> sizes;
  double sum = 0;
  for (const auto& [stride, seen] : strides)
    if (seen.times >= k_again) sizes.emplace_back(std::abs(stride), seen.bytes), sum += seen.bytes;
  if (sum < k_regular * all) return {};
  std::sort(sizes.begin(), sizes.end());
  for (double below = 0; const auto& [stride, bytes] : sizes)
    if ((below += bytes) >= sum / 2) return stride;
  return {};
}

std::optional<PeriodicRuns> runs_of(const std::pair<double, std::int64_t>& steps,
                            const std::pair<double, std::int64_t>& jumps, double all) {
  const auto stride = double(steps.second), jump = double(jumps.second);
  if (jumps.first < k_jumps * all || std::abs(jump) < k_far * std::abs(stride)) return {};
  const double in_a_run = steps.first / jumps.first;
  // Whole strides: how many steps a run has is known only from counts.
  const auto unit = std::gcd(std::abs(steps.second), std::abs(jumps.second));
  const double between = std::abs(in_a_run * stride + jump);
  if (between >= k_widest) return {}; // a log that is made up: nothing is so far apart
  return PeriodicRuns{std::llround(between / double(unit)) * unit, (in_a_run + 1) * std::abs(stride)};
}

// Rows of a tile whose jumps are not counted well: the walks along a loop are shorter than they, or
// each returns to the row's begin, before a later one goes on. accessed: bytes from the lowest to the
// highest address.
bool is_row_of_tile(const std::pair<double, std::int64_t>& steps,
                    const std::pair<double, std::int64_t>& jumps, double all,
                    std::uint64_t accessed) {
  const auto stride = double(steps.second), jump = double(jumps.second);
  if (jumps.first < k_some * all || jumps.first < k_rule * (all - steps.first)) return false;
  const double row = steps.first / jumps.first * std::abs(stride);
  if (row > k_longest || std::abs(jump) < k_far * std::abs(stride)) return false;
  const double apart = std::abs(steps.first / jumps.first * stride + jump); // of two rows' begins
  if (apart >= 2 * row) return jumps.first < k_jumps * all;
  return apart < row / 2 && row <= k_read_again && double(accessed) >= k_parts * row;
}

// Jumps that go anywhere, and between them a few lines only. first, second: parts of all steps.
bool is_short_runs(double first, double second, std::int64_t stride) {
  const double jumps = 1 - first;
  if (second >= k_rule * jumps) return false;
  const double lines_a_step = std::min(1.0, std::abs(double(stride)) / k_line_bytes);
  return (first / jumps + 1) * lines_a_step <= k_short;
}

// Jumps from array to array that an instruction serves in turn, a run of each: out of one object
// into another, or several far ones, which come again and again. order: the steps, most frequent
// first.
bool takes_turns(std::span<const std::pair<double, std::int64_t>> order, double all,
                 double object) {
  double jumps = 0, out = 0;
  std::size_t many = 1;
  for (; many < std::min(order.size(), k_most_in_turn); ++many) {
    const double count = order[many].first, jump = std::abs(double(order[many].second));
    if (count < k_in_company * order[1].first || jump < k_between_arrays) break;
    jumps += count;
    out += object > 0 && jump >= object ? count : 0;
  }
  return (many > 2 ? jumps : out) >= k_of_jumps * (all - order[0].first) && jumps > 0;
}

// Bytes between the begins of two runs, as far as some instruction was seen to access them.
std::int64_t touched(const std::vector<std::pair<std::uint64_t, std::int64_t>>& places,
                     std::int64_t period) {
  std::map<std::uint64_t, std::int64_t> pieces;
  for (const auto& [address, size] : places)
    pieces[address % static_cast<std::uint64_t>(period)] = size;
  std::int64_t bytes = 0;
  std::uint64_t end = 0;
  for (const auto& [place, size] : pieces) {
    const std::uint64_t begin = std::max(place, end);
    end = std::max(end, place + static_cast<std::uint64_t>(size));
    bytes += static_cast<std::int64_t>(end - begin);
  }
  return bytes;
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
  of.lowest = std::min(of.lowest, pattern.address);
  of.highest = std::max(of.highest, pattern.address);
  if (of.places.size() < k_places) of.places.push_back(pattern.address);
  of.bytes += double{pattern.bytes};
  of.accesses += double{pattern.accesses};
  of.chased += double{pattern.chased} * double{pattern.bytes};
  if (pattern.is_indirect()) of.indirect += double{pattern.bytes};
  bool any = false;
  for (const AccessPattern::Stride& stride : pattern.strides) {
    if (!(stride.share > 0)) break;
    any = true;
    if (of.strides.size() < 64 || of.strides.count(stride.bytes) != 0)
      of.strides[stride.bytes] += double{pattern.accesses} * double{stride.share};
  }
  if (any) of.known += double{pattern.accesses};
  const AccessPattern::Stride& most = pattern.strides[0];
  if (most.bytes == 0 || double{most.share} < k_most) return;
  if (of.steady.size() >= 64 && of.steady.count(most.bytes) == 0) return;
  Of::Steady& steady = of.steady[most.bytes];
  steady.bytes += double{pattern.bytes};
  ++steady.times;
}

PatternParts PatternEvidence::parts(double object) const {
  using Key = std::pair<std::uint64_t, AccessKind>;
  std::map<std::int64_t, Walk> walks; // by stride
  struct Rows {                       // runs with gaps, which other instructions may fill
    std::vector<std::pair<std::uint64_t, std::int64_t>> places;
    std::vector<Key> of;
  };
  std::map<std::int64_t, Rows> rows; // by period
  PatternParts parts;
  std::map<Key, double> moves; // of each instruction's steps, that lead elsewhere
  const auto vote = [&](PatternKind kind, const Key& key) {
    const bool stores = key.second == AccessKind::store;
    const auto moving = moves.find(key);
    (stores ? parts.stored : parts.loaded)[static_cast<unsigned>(kind)] +=
        instructions_.at(key).bytes * (moving == moves.end() ? 1 : moving->second);
    if (!stores)
      parts.instructions[key.first] = kind;
    else
      parts.instructions.try_emplace(key.first, kind);
  };
  ObjectPattern& decided = parts.whole;
  double indirect = 0, widest = 0;
  for (const auto& [key, of] : instructions_) {
    indirect += of.indirect;
    const std::int64_t size =
        std::llround(std::min(of.bytes / std::max(of.accesses, 1e-9), k_widest));
    if (size >= k_copied) {
      vote(PatternKind::sequential, key);
      continue;
    }
    if (of.chased >= 0.5 * of.bytes) {
      vote(PatternKind::pointer_chase, key);
      continue;
    }
    if (of.indirect >= 0.5 * of.bytes) {
      vote(PatternKind::random, key);
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
    moves[key] = moving / of.known;
    double first = order[0].first / moving, few = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), 3); ++i)
      few += order[i].first / moving;
    const double second = order.size() > 1 ? order[1].first / moving : 0;
    if (moving < (first < k_most ? k_moves : k_hardly) * of.known) continue;
    const auto add_to_walk = [&, &key = key, &of = of] {
      Walk& walk = walks[std::abs(order[0].second)];
      const auto stride = static_cast<std::uint64_t>(std::abs(order[0].second));
      walk.pieces.push_back({of.address % stride, size, of.accesses});
      walk.bytes += of.bytes;
      walk.of.push_back(key);
    };
    if (first >= k_regular && takes_turns(order, moving, object)) {
      add_to_walk();
    } else if (first >= k_regular && is_short_runs(first, second, order[0].second)) {
      vote(PatternKind::random, key);
    } else if (first >= k_most || (few >= k_most && first >= k_regular && order.size() > 1)) {
      // The rows of a tile leave gaps; the lines of a grid follow one another; a row that is read
      // again and again returns to its begin.
      if (order.size() > 1 && is_row_of_tile(order[0], order[1], moving, of.highest - of.lowest)) {
        vote(PatternKind::tiled, key);
        continue;
      }
      const auto runs = order.size() > 1 ? runs_of(order[0], order[1], moving) : std::nullopt;
      if (runs && runs->length < k_filled * double(runs->period)) {
        Rows& of_period = rows[runs->period];
        of_period.of.push_back(key);
        for (const std::uint64_t place : of.places)
          of_period.places.emplace_back(place, size);
        continue;
      }
      add_to_walk();
    } else if (const auto median = median_of_strides(of.steady, of.bytes); median && few < k_most) {
      vote(PatternKind::strided, key);
      if (of.bytes <= widest) continue;
      widest = of.bytes;
      decided.stride = *median;
      decided.several = true;
    } else {
      vote(few >= k_most ? PatternKind::tiled : PatternKind::random, key);
    }
  }
  for (const auto& [period, row] : rows) {
    const bool filled = double(touched(row.places, period)) >= k_filled * double(period);
    for (const Key& key : row.of)
      vote(filled ? PatternKind::sequential : PatternKind::tiled, key);
  }
  for (const auto& [stride, walk] : walks) {
    PatternKind kind = PatternKind::strided;
    if (2 * walk.covered() >= double(stride))
      kind = PatternKind::sequential;
    else if (walk.longest_run() >= k_run)
      kind = PatternKind::tiled; // a loop over a tile's row was unrolled
    for (const Key& key : walk.of)
      vote(kind, key);
    if (kind != PatternKind::strided || walk.bytes <= widest) continue;
    widest = walk.bytes;
    decided.stride = walk.step(stride);
    decided.several = false;
  }
  std::size_t best = 0;
  double all = 0;
  for (std::size_t kind = 1; kind < k_pattern_kinds; ++kind) {
    all += parts.bytes(kind);
    if (parts.bytes(kind) > parts.bytes(best)) best = kind;
  }
  decided.mixed = best > 0 && all - parts.bytes(best) >= k_other * all;
  decided.kind = static_cast<PatternKind>(best);
  parts.stride = decided.stride;
  parts.several = decided.several;
  if (decided.kind != PatternKind::strided) decided.stride = 0, decided.several = false;
  decided.indirect = bytes() > 0 ? indirect / bytes() : 0;
  return parts;
}

} // namespace omptier
