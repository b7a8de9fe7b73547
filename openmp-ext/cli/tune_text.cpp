// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See tune_text.hpp.
#include "cli/tune_text.hpp"

#include "base/text.hpp"
#include "cli/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

std::string decimals(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

double half_width(const TimesAsLong& times) {
  return (times.high - times.low) / 2;
}

// "1.352 ± 0.011".
std::string times_text(const TimesAsLong& times) {
  return decimals(times.value, 3) + " ± " + decimals(half_width(times), 3);
}

std::string kind_text(const TuningProblem& problem, std::size_t kind) {
  return kind < problem.kinds.size() ? problem.kinds[kind] : "divided";
}

TableRow row_of(const Tuned& of, std::size_t group) {
  const TuningProblem& problem = of.problem;
  const std::size_t kind = of.result.best.kinds[group], advised = problem.groups[group].advised;
  TableRow row{kind_text(problem, kind), kind == advised ? "" : kind_text(problem, advised),
               problem.groups[group].label};
  const auto& effect = of.result.effects[group];
  if (!effect) {
    row.insert(row.end(), {"not tried", "", "", ""});
    return row;
  }
  row.push_back(kind_text(problem, effect->kind) +
                (effect->in_exchange.empty() ? "" : " for " + effect->in_exchange));
  row.push_back(effect->failure.empty() ? times_text(effect->times) : effect->failure);
  row.push_back(decimals(effect->predicted, 3));
  row.push_back(effect->times.runs > 0 ? std::to_string(effect->times.runs) : "");
  return row;
}

std::string groups_table(const Tuned& of) {
  using Align = TableColumn::Align;
  const std::vector<TableColumn> columns = {
      {"best", Align::left},     {"advised", Align::left},    {"group", Align::left},
      {"tried in", Align::left}, {"time there", Align::left}, {"predicted", Align::right},
      {"runs", Align::right},
  };
  std::vector<TableRow> rows;
  for (std::size_t group = 0; group < of.problem.groups.size(); ++group)
    rows.push_back(row_of(of, group));
  return table(columns, rows, {}).text;
}

// "the advised plan", which took this much more.
std::string against(const std::string& what, const std::optional<double>& figure,
                    const TimesAsLong& times, const Tuned& of) {
  if (!figure || times.runs == 0) return {};
  return "  " + fitted(what, 14) + figure_text(*figure, of.by_metric) + "; the best plan takes " +
         times_text(times) + " of that\n";
}

std::string held_up_text(unsigned runs) {
  if (runs == 0) return {};
  return " (without " + std::to_string(runs) + (runs == 1 ? " that was" : " that were") +
         " held up: far longer than others with the same placement)";
}

} // namespace

std::string figure_text(double figure, bool by_metric) {
  if (!by_metric) return format_duration(figure * 1e9);
  char text[64];
  std::snprintf(text, sizeof text, "%.5g", figure);
  return text;
}

std::string measured_reason(const TuningProblem& problem, const GroupEffect& effect) {
  const std::string there =
      kind_text(problem, effect.kind) +
      (effect.in_exchange.empty() ? "" : " in exchange for " + effect.in_exchange);
  if (!effect.failure.empty()) return "measured: with it in " + there + ", " + effect.failure;
  if (effect.times.runs == 0) return {};
  const double part = effect.times.value - 1;
  return "measured: " + format_percent(std::abs(part)) + " ± " +
         format_percent(half_width(effect.times)) + (part < 0 ? " faster" : " slower") + " in " +
         there + " (" + std::to_string(effect.times.runs) +
         (effect.times.runs == 1 ? " run)" : " runs)");
}

std::string tuning_text(const Tuned& of) {
  const TuningResult& result = of.result;
  std::string text = groups_table(of) + "\n";
  if (result.best_figure)
    text += "  " + fitted("best plan", 14) + figure_text(*result.best_figure, of.by_metric) +
            (result.best == of.problem.advised() ? "; it is the advised one\n" : "\n");
  if (result.best != of.problem.advised())
    text += against("advised", result.advised, result.best_over_advised, of);
  const std::string slow = "all in " + of.problem.kinds.back();
  text += against(slow, result.all_slow, result.best_over_slow, of);
  if (!result.all_slow_failure.empty())
    text += "  " + fitted(slow, 14) + "not measured: " + result.all_slow_failure + "\n";
  return text + "\nEnded: " + result.ended + "; " + std::to_string(result.runs) +
         (result.runs == 1 ? " run" : " runs") + ", which vary by " +
         format_percent(result.noise.deviation) + held_up_text(result.held_up) +
         ". Intervals (±) are 95 %.\n";
}

namespace {

using Json = nlohmann::ordered_json;

Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json times_json(const TimesAsLong& times) {
  if (times.runs == 0) return nullptr;
  return {{"value", times.value}, {"low", times.low}, {"high", times.high}, {"runs", times.runs}};
}

Json kind_json(const TuningProblem& problem, std::size_t kind) {
  if (kind >= problem.kinds.size()) return nullptr;
  std::string name = problem.kinds[kind];
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name;
}

Json effect_json(const TuningProblem& problem, const GroupEffect& effect) {
  return {{"kind", kind_json(problem, effect.kind)},
          {"times_as_long", times_json(effect.times)},
          {"predicted", effect.predicted},
          {"failure", effect.failure.empty() ? Json(nullptr) : Json(effect.failure)},
          {"in_exchange", effect.in_exchange.empty() ? Json(nullptr) : Json(effect.in_exchange)}};
}

} // namespace

std::string tuning_json(const Tuned& of) {
  const TuningResult& result = of.result;
  Json groups = Json::array();
  for (std::size_t group = 0; group < of.problem.groups.size(); ++group) {
    const auto& effect = result.effects[group];
    groups.push_back({{"label", of.problem.groups[group].label},
                      {"kind", kind_json(of.problem, result.best.kinds[group])},
                      {"advised", kind_json(of.problem, of.problem.groups[group].advised)},
                      {"tried", effect ? effect_json(of.problem, *effect) : Json(nullptr)}});
  }
  const Json all = {{"version", 1},
                    {"by_metric", of.by_metric},
                    {"best", optional_json(result.best_figure)},
                    {"advised", optional_json(result.advised)},
                    {"all_slow", optional_json(result.all_slow)},
                    {"best_over_advised", times_json(result.best_over_advised)},
                    {"best_over_slow", times_json(result.best_over_slow)},
                    {"groups", std::move(groups)},
                    {"finished", result.is_finished},
                    {"ended", result.ended},
                    {"undecided", result.undecided},
                    {"runs", result.runs},
                    {"held_up", result.held_up},
                    {"noise", result.noise.deviation}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace omptier
