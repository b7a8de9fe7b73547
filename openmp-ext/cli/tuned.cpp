// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See tuned.hpp.
#include "cli/tuned.hpp"

#include "machine/hash.hpp"
#include "tuning/run_list.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>

namespace omptier {
namespace {

constexpr std::size_t k_most_factors = 3; // sites
constexpr double k_least_factor = 1.05;   // factor, either way

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string factor_in_words(const std::string& what, double factor) {
  char number[32];
  std::snprintf(number, sizeof number, " times %.2g", factor);
  return what + number;
}

std::string factors_in_words(const AdviceInput& input) {
  std::vector<std::pair<double, std::string>> factors; // how far from 1; words
  for (const auto& [site, factor] : input.learned.accesses)
    factors.emplace_back(std::abs(std::log(factor)),
                         factor_in_words(input.names.sites[site], factor));
  std::ranges::sort(factors, std::greater{});
  if (factors.size() > k_most_factors) factors.resize(k_most_factors);
  std::erase_if(factors, [](const auto& one) { return one.first < std::log(k_least_factor); });
  std::string words;
  for (const auto& [far, text] : factors)
    words += (words.empty() ? "; accesses of " : ", ") + text;
  if (std::abs(std::log(input.learned.work)) >= std::log(k_least_factor))
    words += factor_in_words("; work", input.learned.work);
  return words;
}

} // namespace

std::string hash_of_profiles(const std::vector<std::string>& profiles) {
  std::string hashes;
  for (const std::string& profile : profiles)
    hashes += hash_text(content_of(profile));
  return hash_text(hashes);
}

Parsed<Learned> learned_by(const AdviceArguments& arguments, const AdviceInput& input) {
  using Outcome = Parsed<Learned>;
  const auto plans = measured_plans(arguments.tuned, hash_of_profiles(arguments.profiles));
  if (!plans) return Outcome::failure(plans.error());
  const auto workload = workload_for(arguments, input);
  if (!workload) return Outcome::failure(workload.error());
  std::vector<MeasuredPlacement> measured;
  for (const MeasuredPlan& one : *plans) {
    auto placed = placed_by_plan(one.plan, arguments.tuned, input, *workload);
    if (!placed) return Outcome::failure(placed.error());
    std::vector<std::size_t> tiers = placed->completed(tier_of_unnamed(one.plan, input.tiers));
    measured.push_back({std::move(placed->workload), std::move(tiers), one.figures});
  }
  return learn(measured, input.tiers);
}

std::string learned_in_words(const AdviceArguments& arguments, const AdviceInput& input) {
  const Learned& learned = input.learned;
  if (arguments.tuned.empty()) return {};
  if (!learned.any())
    return arguments.tuned + " has one placement only: nothing is learned from it; let omptier "
                             "tune run longer (--time)";
  char text[160];
  std::snprintf(text, sizeof text,
                ": %zu runs of %zu placements correct the model, which was %.1f %% off and is now "
                "%.1f %%",
                learned.runs, learned.placements, 100 * learned.error_before,
                100 * learned.error_after);
  return arguments.tuned + text + factors_in_words(input);
}

} // namespace omptier
