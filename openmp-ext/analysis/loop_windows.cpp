// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See loop_windows.hpp.
#include "analysis/loop_windows.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {
namespace {

constexpr float k_known_steps = 0.9F; // of an instruction's steps
constexpr float k_mostly_one = 0.5F;  // of them, for the most frequent
constexpr double k_mostly = 0.9;      // of a stream's windows must be regular
constexpr double k_least_windows = 4;
constexpr double k_half_of_95 = 2;        // standard errors
constexpr double k_largest_window = 1e18; // of a window: others are of a damaged log

// 0: not regular.
double mean_step(const AccessPattern& pattern) {
  double step = 0;
  float known = 0;
  for (const AccessPattern::Stride& stride : pattern.strides) {
    step += double{stride.share} * double(stride.bytes);
    known += stride.share;
  }
  const bool regular = known >= k_known_steps && pattern.strides[0].share >= k_mostly_one;
  return regular && pattern.through == 0 ? step / double{known} : 0;
}

// Instructions of a region, in sets that windows join.
class Nests {
public:
  using Instruction = std::pair<std::uint32_t, std::uint64_t>; // region, pc

  void join(const Instruction& one, const Instruction& other) {
    const Instruction a = first_of(one), b = first_of(other);
    if (a == b) return;
    first_[std::max(a, b)] = std::min(a, b);
    if (in_loop_.contains(std::max(a, b))) in_loop_.try_emplace(std::min(a, b), 0);
  }
  void set_in_loop(const Instruction& instruction) {
    in_loop_.try_emplace(first_of(instruction), 0);
  }
  // 0: seen in no window, or in none of a loop. To be called when all are joined.
  std::uint32_t number(const Instruction& instruction) {
    if (!first_.contains(instruction)) return 0;
    const auto loop = in_loop_.find(first_of(instruction));
    if (loop == in_loop_.end()) return 0;
    if (loop->second == 0) loop->second = ++numbered_;
    return loop->second;
  }

private:
  Instruction first_of(Instruction instruction) {
    auto at = first_.emplace(instruction, instruction).first;
    while (at->second != at->first)
      at = first_.find(at->second = first_.at(at->second));
    return at->first;
  }

  std::map<Instruction, Instruction> first_;     // an earlier one of the set; of the first, itself
  std::map<Instruction, std::uint32_t> in_loop_; // numbers, by the first of a set
  std::uint32_t numbered_ = 0;
};

} // namespace

LoopWindows::LoopWindows(const Profile& profile, std::span<const RegionRun> runs) {
  number_nests(profile, runs);
  for (std::size_t i = 0; i < profile.samples.size(); ++i)
    if (nests_[i] != 0) add(nests_[i], window_of(profile, profile.samples[i]));
}

void LoopWindows::number_nests(const Profile& profile, std::span<const RegionRun> runs) {
  Nests nests;
  const auto sampled = [&](std::size_t i) {
    return Nests::Instruction(runs[i].region, profile.samples[i].pc);
  };
  for (std::size_t i = 0; i < profile.samples.size(); ++i)
    for (const LoggedPattern& pattern : window_of(profile, profile.samples[i])) {
      nests.join(sampled(i), {runs[i].region, pattern.pc});
      if (pattern.loop != 0) nests.set_in_loop(sampled(i));
    }
  for (std::size_t i = 0; i < profile.samples.size(); ++i)
    nests_.push_back(nests.number(sampled(i)));
}

void LoopWindows::add(std::uint32_t nest, std::span<const LoggedPattern> window) {
  double bytes = 0;
  for (const LoggedPattern& pattern : window)
    bytes += double{pattern.bytes};
  if (!(bytes > 0) || !(bytes < k_largest_window)) return;
  NestSums& all = of_nest_[nest];
  ++all.windows;
  all.bytes += bytes;
  all.squares += bytes * bytes;
  for (const LoggedPattern& pattern : window) {
    const double step = mean_step(pattern), accesses = double{pattern.accesses};
    if (pattern.address == 0 || !(accesses > 0) || !(accesses < k_largest_window)) continue;
    Sums& sums = streams_[{nest, pattern.pc, pattern.kind == AccessKind::store}];
    const double square = accesses * accesses;
    ++sums.windows;
    sums.accesses += accesses;
    sums.squares += square;
    sums.products += accesses * bytes;
    if (step == 0) continue;
    ++sums.regular;
    sums.regular_accesses += accesses;
    sums.regular_squares += square;
    sums.beside += bytes;
    sums.steps += accesses * step;
    sums.square_steps += square * step;
    sums.squared_steps += square * step * step;
  }
}

// Of two ratios of sums over windows: steps and the nest's bytes, for each access.
double LoopWindows::error_of(const Sums& sums, const NestSums& nest) {
  const auto error = [](double squares, double products, double divisors, double ratio,
                        double sum) {
    const double residual = squares - 2 * ratio * products + ratio * ratio * divisors;
    return std::sqrt(std::max(0.0, residual)) / std::abs(sum);
  };
  const double step = sums.steps / sums.regular_accesses, bytes = nest.bytes / sums.accesses;
  return k_half_of_95 *
         std::hypot(
             error(sums.squared_steps, sums.square_steps, sums.regular_squares, step, sums.steps),
             error(nest.squares, sums.products, sums.squares, bytes, nest.bytes));
}

std::optional<LoopStream> LoopWindows::stream(std::uint32_t nest,
                                              const LoggedPattern& pattern) const {
  const auto found = streams_.find({nest, pattern.pc, pattern.kind == AccessKind::store});
  if (found == streams_.end()) return {};
  const Sums& sums = found->second;
  if (sums.regular < k_least_windows || sums.regular < k_mostly * sums.windows) return {};
  const NestSums& all = of_nest_.at(nest);
  const LoopStream stream{sums.steps / sums.regular_accesses, sums.beside / sums.regular_accesses,
                          all.bytes / sums.accesses, error_of(sums, all),
                          sums.windows / all.windows};
  if (stream.step == 0 || !std::isfinite(stream.relative_error)) return {};
  return stream;
}

} // namespace omptier
