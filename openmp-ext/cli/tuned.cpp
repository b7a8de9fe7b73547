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

constexpr std::size_t k_most_factors = 3; // that are named
constexpr double k_least_factor = 1.1;    // either way

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string factors_in_words(const Learned& learned, const std::vector<std::string>& labels) {
  std::vector<std::pair<double, std::string>> factors; // how far from 1; words
  const auto add = [&](const std::string& what, double factor) {
    char number[32];
    std::snprintf(number, sizeof number, " times %.2g", factor);
    if (const double far = std::abs(std::log(factor)); far >= std::log(k_least_factor))
      factors.emplace_back(far, what + number);
  };
  for (const auto& [site, factor] : learned.accesses)
    add("accesses of " + labels[site], factor);
  add("work", learned.work);
  std::ranges::sort(factors, std::greater{});
  if (factors.size() > k_most_factors) factors.resize(k_most_factors);
  std::string words;
  for (const auto& [far, text] : factors)
    words += (words.empty() ? " (" : ", ") + text;
  return words.empty() ? words : words + ")";
}

} // namespace

std::string hash_of_profiles(const std::vector<std::string>& profiles) {
  std::vector<std::string> hashes;
  for (const std::string& profile : profiles)
    hashes.push_back(hash_text(content_of(profile)));
  std::ranges::sort(hashes);
  std::string all;
  for (const std::string& hash : hashes)
    all += hash;
  return hash_text(all);
}

Parsed<Learned> learned_by_tuning(const AdviceArguments& arguments, const AdviceInput& input) {
  if (arguments.tuned->empty()) return Parsed<Learned>::failure("needs the file of omptier tune");
  return learned_in(*arguments.tuned, hash_of_profiles(arguments.profiles), input.names.sites);
}

std::string learned_in_words(const Learned& learned, const std::vector<std::string>& labels) {
  char text[160];
  if (learned.placements < 2)
    return "one placement was measured only, which says nothing of the model";
  if (!learned.changes_any()) {
    std::snprintf(text, sizeof text,
                  "%zu runs of %zu placements leave the model as it is, %.1f %% off", learned.runs,
                  learned.placements, 100 * learned.error_before);
    return text;
  }
  std::snprintf(
      text, sizeof text, "%zu runs of %zu placements correct the model from %.1f to %.1f %% off",
      learned.runs, learned.placements, 100 * learned.error_before, 100 * learned.error_after);
  return text + factors_in_words(learned, labels);
}

} // namespace omptier
