// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See outcome.hpp.
#include "calibration/outcome.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace omptier {
namespace {

struct NamedFigure {
  Quantity quantity;
  double Figures::* figure;
  const char* name;
};
constexpr std::array<NamedFigure, 5> k_named = {{
    {Quantity::read_latency, &Figures::read_latency, "read latency"},
    {Quantity::write_latency, &Figures::write_latency, "write latency"},
    {Quantity::read, &Figures::read_bandwidth, "read bandwidth"},
    {Quantity::write, &Figures::write_bandwidth, "write bandwidth"},
    {Quantity::copy, &Figures::mixed_bandwidth, "bandwidth of reads with writes"},
}};
constexpr std::array<Quantity, 4> k_gathers = {Quantity::gather, Quantity::gather_4,
                                               Quantity::gather_8, Quantity::gather_16};
constexpr std::array<double, 4> k_gathered_lines = {1, 4, 8, 16};
// Of groups that take one access of the medium, the larger is this much faster in bytes at least,
// for each line that it has more: noise and the way through the caches take some.
constexpr double k_one_access = 0.65;

PairOutcome& pair_of(std::vector<PairOutcome>& pairs, const Task& task) {
  for (PairOutcome& pair : pairs)
    if (pair.group == task.group && pair.node == task.node) return pair;
  pairs.push_back({task.group, task.node, {}, 0, 0, {}, {}});
  return pairs.back();
}

std::string percent(double part) {
  return std::to_string(std::lround(100 * part)) + " %";
}

std::string processors_text(double count) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", count);
  return text.data();
}

// Why a result of enough repeats becomes no figure, or "".
std::string weakness_of(const Result& result, const CpuGroup& group) {
  const auto threads = result.task.threads;
  if (group.quota > 0 && group.quota < threads)
    return "a quota of " + processors_text(group.quota) + " of " + std::to_string(threads) +
           " processors";
  if (!is_time(result.task.quantity) && group.usable.size() < group.all.size())
    return "by " + std::to_string(group.usable.size()) + " of " + std::to_string(group.all.size()) +
           " processors";
  if (result.visits.empty()) return "measured once only, --time was too short";
  return is_trusted(result) ? "" : "interval " + percent(result.spread()) + " wide";
}

void take(PairOutcome& pair, const Result& result, const CpuGroup& group, const char* name,
          double& figure) {
  if (result.value <= 0) {
    if (pair.problem.empty()) pair.problem = result.problem;
    return;
  }
  if (const std::string why = weakness_of(result, group); !why.empty())
    pair.left_out.push_back(std::string(name) + " (" + why + ")");
  else
    figure = result.value;
}

// Fewer threads may reach more than all, where these are in each other's way; but only what all
// reach tells that the others did not just have too few.
void take_better(std::span<const Result> results, PairOutcome& pair, const NamedFigure& known) {
  double& figure = pair.figures.*known.figure;
  if (figure <= 0) return;
  for (const Result& result : results)
    if (result.task.quantity == known.quantity && result.task.group == pair.group &&
        result.task.node == pair.node && is_trusted(result))
      figure = std::max(figure, result.value);
}

bool by_all(const Task& task, const CpuGroup& group) {
  return is_time(task.quantity) || task.threads == group.usable.size();
}

} // namespace

double block_of(std::span<const double> gathers, double in_order) {
  if (gathers.size() < 2 || gathers[0] <= 0 || gathers[1] <= 0) return 0;
  if (in_order <= 0 || *std::ranges::max_element(gathers) < k_one_access * in_order) return 0;
  double lines = 1;
  for (std::size_t i = 1; i < gathers.size() && i < k_gathered_lines.size(); ++i)
    if (gathers[i] >= k_one_access * k_gathered_lines[i] * gathers[0]) lines = k_gathered_lines[i];
  return 64 * lines;
}

std::vector<Result> both_visits(std::span<const Result> results) {
  std::vector<Result> merged;
  for (const Result& result : results) {
    Task first = result.task;
    first.visit = 0;
    const auto at = std::ranges::find(merged, first, &Result::task);
    if (result.task.visit > 0 && at != merged.end())
      *at = together(*at, result);
    else
      merged.push_back(result);
  }
  return merged;
}

std::vector<PairOutcome> outcomes(std::span<const Result> results,
                                  const std::vector<CpuGroup>& groups) {
  std::vector<PairOutcome> pairs;
  for (const Result& result : results) {
    PairOutcome& pair = pair_of(pairs, result.task);
    const CpuGroup& group = groups[result.task.group];
    for (const NamedFigure& known : k_named)
      if (known.quantity == result.task.quantity && by_all(result.task, group)) {
        take(pair, result, group, known.name, pair.figures.*known.figure);
        pair.spread = std::max(pair.spread, result.spread());
      }
  }
  for (PairOutcome& pair : pairs) {
    for (const NamedFigure& known : k_named)
      if (!is_time(known.quantity)) take_better(results, pair, known);
    std::array<double, k_gathers.size()> gathers{};
    for (const Result& result : results)
      for (std::size_t i = 0; i < k_gathers.size(); ++i)
        if (result.task.quantity == k_gathers[i] && result.task.group == pair.group &&
            result.task.node == pair.node &&
            result.task.threads == groups[pair.group].usable.size() && is_trusted(result))
          gathers[i] = result.value;
    pair.gather = gathers[0];
    const double block = block_of(gathers, pair.figures.read_bandwidth);
    pair.figures.block_is_known = block > 0;
    if (block > 0) pair.figures.block = block;
  }
  return pairs;
}

std::vector<MeasuredView> views_of(std::span<const PairOutcome> pairs,
                                   const std::vector<CpuGroup>& groups) {
  std::vector<MeasuredView> views;
  for (const PairOutcome& pair : pairs) {
    const bool any =
        pair.figures.block_is_known || std::ranges::any_of(k_named, [&](const NamedFigure& known) {
          return pair.figures.*known.figure > 0;
        });
    if (any) views.push_back({groups[pair.group].all, pair.node, pair.figures});
  }
  return views;
}

} // namespace omptier
