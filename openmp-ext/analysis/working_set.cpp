// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/working_set.hpp"

#include <algorithm>
#include <numeric>

namespace omptier {
namespace {

constexpr double k_hot = 0.9;
constexpr std::uint64_t k_samples_a_part = 8;

} // namespace

void OffsetHistogram::add(std::uint64_t offset, std::uint64_t bytes, double weight) {
  const auto whole =
      static_cast<double>(std::max<std::uint64_t>(bytes, 1)); // malloc(0) has a place
  add_at(static_cast<double>(offset) / whole, weight);
}

void OffsetHistogram::add_at(double position, double weight) {
  if (weights_.empty()) weights_.resize(k_parts);
  const auto part = static_cast<unsigned>(std::clamp(position, 0.0, 1.0) * k_parts);
  weights_[std::min(part, k_parts - 1)] += static_cast<float>(weight);
  ++samples_;
}

std::vector<HotRange> OffsetHistogram::hot_ranges() const {
  if (samples_ == 0) return {};
  unsigned together = 1; // parts put together
  while (together < k_parts && samples_ * together < k_samples_a_part * k_parts)
    together *= 2;
  std::vector<double> weights(k_parts / together);
  for (unsigned i = 0; i < k_parts; ++i)
    weights[i / together] += double{weights_[i]};
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);

  std::vector<unsigned> order(weights.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, [&](unsigned a, unsigned b) { return weights[a] > weights[b]; });
  std::vector<bool> hot(weights.size());
  double held = 0;
  for (const unsigned part : order) {
    if (held >= k_hot * total) break;
    held += weights[part];
    hot[part] = true;
  }

  std::vector<HotRange> ranges;
  const double width = 1.0 / static_cast<double>(weights.size());
  for (unsigned part = 0; part < weights.size(); ++part) {
    if (!hot[part]) continue;
    if (part == 0 || !hot[part - 1]) ranges.push_back({part * width, part * width, 0});
    ranges.back().end = (part + 1) * width;
    ranges.back().share += weights[part] / total;
  }
  std::ranges::stable_sort(ranges, [](const HotRange& a, const HotRange& b) {
    return a.share / (a.end - a.begin) > b.share / (b.end - b.begin);
  });
  return ranges;
}

double fraction_of(const std::vector<HotRange>& ranges) {
  double sum = 0;
  for (const HotRange& range : ranges)
    sum += range.end - range.begin;
  return sum;
}

} // namespace omptier
