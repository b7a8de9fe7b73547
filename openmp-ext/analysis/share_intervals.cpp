// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See share_intervals.hpp. Blocks are equal numbers of consecutive samples, stretches k_stretch blocks;
// a replicate draws as many blocks as the stretch has, with replacement. Drawing from m blocks
// shows only (m - 1)/m of the variance, so deviations are widened by sqrt(m/(m - 1)).
#include "analysis/share_intervals.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {
namespace {

constexpr std::size_t k_replicates = 400;
constexpr std::size_t k_stretch = 10;       // blocks
constexpr std::size_t k_most_blocks = 120;  // of all runs together
constexpr std::size_t k_least_samples = 16; // in a block

struct Random { // xorshift64*: reproducible everywhere
  std::uint64_t state = 0x2545f4914f6cdd1du;
  std::size_t below(std::size_t limit) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return static_cast<std::size_t>((state * 0x2545f4914f6cdd1du >> 33) % limit);
  }
};

struct Block {
  std::vector<std::pair<std::uint32_t, double>> weights; // by group, only those present
  double total = 0;
};

Block make_block(std::span<const WeightedSample> samples, std::vector<double>& scratch) {
  Block block;
  for (const WeightedSample& sample : samples) {
    if (scratch[sample.group] == 0) block.weights.emplace_back(sample.group, 0);
    scratch[sample.group] += sample.weight;
    block.total += sample.weight;
  }
  for (auto& [group, weight] : block.weights) {
    weight = scratch[group];
    scratch[group] = 0;
  }
  return block;
}

using Stretch = std::vector<Block>;

std::vector<Stretch> stretches_of(std::span<const std::vector<WeightedSample>> runs,
                                  std::size_t groups, std::size_t per_block) {
  std::vector<Stretch> stretches;
  std::vector<double> scratch(groups, 0);
  for (const auto& run : runs) {
    std::vector<Block> blocks;
    const std::span<const WeightedSample> all(run);
    for (std::size_t at = 0; at < all.size(); at += per_block)
      blocks.push_back(make_block(all.subspan(at, std::min(per_block, all.size() - at)), scratch));
    // Whole stretches; left-over blocks join the last.
    const std::size_t count = std::max<std::size_t>(1, blocks.size() / k_stretch);
    for (std::size_t i = 0; i < count && !blocks.empty(); ++i) {
      const std::size_t begin = blocks.size() * i / count, end = blocks.size() * (i + 1) / count;
      stretches.emplace_back(blocks.begin() + static_cast<std::ptrdiff_t>(begin),
                             blocks.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
  return stretches;
}

std::vector<std::vector<double>> draw_shares(const std::vector<Stretch>& stretches,
                                             const std::vector<std::size_t>& present,
                                             std::size_t groups) {
  Random random;
  std::vector<std::vector<double>> shares(groups);
  for (const std::size_t group : present)
    shares[group].assign(k_replicates, 0);
  for (std::size_t replicate = 0; replicate < k_replicates; ++replicate) {
    double total = 0;
    for (const Stretch& stretch : stretches)
      for (std::size_t i = 0; i < stretch.size(); ++i) {
        const Block& block = stretch[random.below(stretch.size())];
        total += block.total;
        for (const auto& [group, weight] : block.weights)
          if (weight != 0) shares[group][replicate] += weight; // without weight, none was made
      }
    for (const std::size_t group : present)
      shares[group][replicate] = total > 0 ? shares[group][replicate] / total : 0;
  }
  return shares;
}

double percentile(std::vector<double>& values, double fraction) {
  const auto at =
      static_cast<std::size_t>(std::lround(fraction * static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

} // namespace

Interval wilson_interval(double share, double effective_samples) {
  if (effective_samples <= 0) return {0, 1};
  const double n = effective_samples, z2 = k_deviations * k_deviations;
  const double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = k_deviations / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return {std::max(0.0, std::min(share, middle - half)),
          std::min(1.0, std::max(share, middle + half))};
}

std::vector<Interval> share_intervals(std::span<const std::vector<WeightedSample>> runs,
                                      std::size_t groups) {
  std::vector<Interval> intervals(groups, {0, 1});
  std::size_t samples = 0;
  double sum = 0, sum_of_squares = 0;
  std::vector<double> of_group(groups, 0);
  for (const auto& run : runs)
    for (const WeightedSample& sample : run) {
      ++samples;
      sum += sample.weight;
      sum_of_squares += double{sample.weight} * double{sample.weight};
      of_group[sample.group] += sample.weight;
    }
  if (sum <= 0) return intervals;
  const double effective = sum * sum / sum_of_squares;
  for (std::size_t group = 0; group < groups; ++group)
    intervals[group] = wilson_interval(of_group[group] / sum, effective);

  const std::size_t per_block = std::max(k_least_samples, samples / k_most_blocks + 1);
  const std::vector<Stretch> stretches = stretches_of(runs, groups, per_block);
  // Most sites of a large program have no samples: no draws are spent on them.
  std::vector<std::size_t> present;
  for (std::size_t group = 0; group < groups; ++group)
    if (of_group[group] != 0) present.push_back(group);
  std::vector<std::vector<double>> shares = draw_shares(stretches, present, groups);
  const double m = static_cast<double>(std::max<std::size_t>(2, stretches.front().size()));
  const double widen = std::sqrt(m / (m - 1));
  for (const std::size_t group : present) {
    const double share = of_group[group] / sum;
    const double low = share - widen * (share - percentile(shares[group], 0.025));
    const double high = share + widen * (percentile(shares[group], 0.975) - share);
    intervals[group].low = std::max(0.0, std::min({intervals[group].low, low, share}));
    intervals[group].high = std::min(1.0, std::max({intervals[group].high, high, share}));
  }
  return intervals;
}

} // namespace omptier
