// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See enough_samples.hpp.
#include "analysis/enough_samples.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace omptier {
namespace {

constexpr double k_matters = 0.9;      // of what fell on objects
constexpr double k_confidence = 1.96;  // z of 95 %
constexpr double k_precision = 0.5;    // of a share
constexpr double k_least_share = 1e-9; // damaged profiles have any

// Two digits, rounded up: "1.4", "29".
std::string format_times(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, factor < 9.95 ? "%.1f" : "%.0f",
                factor < 9.95 ? std::ceil(factor * 10) / 10 : std::ceil(factor));
  return text;
}

} // namespace

SamplesWanted samples_wanted(const ProfileSummary& summary) {
  std::vector<double> shares;
  double all = 0;
  for (const SiteSummary& site : summary.sites) {
    if (site.share.value <= 0) continue;
    shares.push_back(site.share.value);
    all += site.share.value;
  }
  std::ranges::sort(shares, std::greater{});
  SamplesWanted wanted;
  for (double sum = 0; wanted.objects < shares.size() && sum < k_matters * all;) {
    wanted.least_share = shares[wanted.objects++];
    sum += wanted.least_share;
  }
  const double p = std::max(wanted.least_share, k_least_share);
  if (wanted.objects > 0 && p < 1)
    wanted.samples = static_cast<std::uint64_t>(std::ceil(
        k_confidence * k_confidence * (1 - p) / (k_precision * k_precision * p)));
  return wanted;
}

std::string too_few_samples(const ProfileSummary& summary) {
  const bool exact = std::ranges::all_of(
      summary.runs, [](const RunRecord& run) { return run.source == "exact"; });
  const SamplesWanted wanted = samples_wanted(summary);
  if (exact || summary.samples == 0 || summary.samples >= wanted.samples) return {};
  const double factor = double(wanted.samples) / double(summary.samples);
  const double rate = summary.runs.front().rate * factor;
  constexpr double k_highest_rate = 20000;
  std::string text =
      std::to_string(summary.samples) + " samples are too few to rank the " +
      std::to_string(wanted.objects) + " objects that take 90 % of those on objects (the least " +
      format_percent(wanted.least_share) + "): " + std::to_string(wanted.samples) +
      " are needed; record " + format_times(factor) + " times as long";
  if (rate > 0 && rate <= k_highest_rate)
    text += ", or with --rate " + std::to_string(std::lround(std::ceil(rate)));
  return text;
}

} // namespace omptier
