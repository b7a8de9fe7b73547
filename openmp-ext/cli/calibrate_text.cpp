// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See calibrate_text.hpp.
#include "cli/calibrate_text.hpp"

#include "base/os.hpp"
#include "calibration/result_file.hpp"
#include "cli/table.hpp"
#include "platform/describe.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

using Json = nlohmann::ordered_json;
using Align = TableColumn::Align;

std::string rate(double value) {
  return value > 0 ? format_rate(value) : "-";
}
std::string time(double value) {
  return value > 0 ? format_duration(value) : "-";
}
std::string percent(double part) {
  return std::to_string(std::lround(100 * part)) + " %";
}

TableColumn right(const char* title) {
  return {title, Align::right, 0, TableColumn::Cut::never, false};
}
TableColumn left(const char* title) {
  return {title, Align::left, 0, TableColumn::Cut::never, false};
}

std::string kind_of(const Calibrated& found, unsigned node) {
  return std::string(title_of(found.platform.node(node)->kind));
}

const Result* find(const Calibrated& found, Quantity quantity, unsigned group, unsigned node,
                   unsigned threads) {
  const auto at = std::ranges::find_if(found.results, [&](const Result& result) {
    return result.task == Task{quantity, group, node, threads, -1} && result.value > 0;
  });
  return at == found.results.end() ? nullptr : &*at;
}

// A figure, or what was measured without becoming one.
std::string cell(const Calibrated& found, const PairOutcome& pair, Quantity quantity,
                 double figure) {
  const auto text = [&](double value) { return is_time(quantity) ? time(value) : rate(value); };
  if (figure > 0) return text(figure);
  const auto all = static_cast<unsigned>(found.groups[pair.group].usable.size());
  const Result* const result =
      find(found, quantity, pair.group, pair.node, is_time(quantity) ? 1 : all);
  return result != nullptr ? text(result->value) + " ?" : "-";
}

std::string figures_text(const Calibrated& found) {
  std::vector<TableRow> rows;
  for (const PairOutcome& pair : found.pairs)
    rows.push_back(
        {std::to_string(pair.node), kind_of(found, pair.node),
         format_numbers(found.groups[pair.group].all),
         cell(found, pair, Quantity::read_latency, pair.figures.read_latency),
         cell(found, pair, Quantity::write_latency, pair.figures.write_latency),
         cell(found, pair, Quantity::read, pair.figures.read_bandwidth),
         cell(found, pair, Quantity::write, pair.figures.write_bandwidth),
         cell(found, pair, Quantity::copy, pair.figures.mixed_bandwidth),
         cell(found, pair, Quantity::gather, pair.gather),
         pair.figures.block_is_known ? format_size(std::uint64_t(pair.figures.block)) : "-",
         percent(pair.spread)});
  return table({right("node"), left("kind"), left("from CPUs"), right("read lat."),
                right("write lat."), right("read"), right("write"), right("both"),
                right("at random"), right("block"), right("noise")},
               rows, {})
      .text;
}

std::string value_of(const Result* result) {
  if (result == nullptr) return "-";
  const std::string text =
      is_time(result->task.quantity) ? time(result->value) : rate(result->value);
  return is_trusted(*result) ? text : text + " ?";
}

// Whether anything was measured that --quick leaves out.
bool has_curve(const Calibrated& found, const PairOutcome& pair, unsigned all) {
  return std::ranges::any_of(found.results, [&](const Result& result) {
    const Task& task = result.task;
    const bool of_curve = !is_time(task.quantity)
                              ? task.threads < all || task.quantity == Quantity::strided ||
                                    task.quantity == Quantity::tiled
                              : task.quantity == Quantity::loaded_latency;
    return task.group == pair.group && task.node == pair.node && task.other < 0 && of_curve &&
           result.value > 0;
  });
}

// By threads, where more than one number of them was measured.
std::string curves_text(const Calibrated& found) {
  std::vector<TableRow> rows;
  for (const PairOutcome& pair : found.pairs) {
    const auto all = static_cast<unsigned>(found.groups[pair.group].usable.size());
    if (all < 2 || !has_curve(found, pair, all)) continue;
    for (const unsigned threads : thread_counts(all)) {
      TableRow row = {std::to_string(pair.node), kind_of(found, pair.node),
                      std::to_string(threads)};
      for (const Quantity quantity :
           {Quantity::read, Quantity::write, Quantity::copy, Quantity::gather, Quantity::strided,
            Quantity::tiled, Quantity::loaded_latency})
        row.push_back(value_of(find(found, quantity, pair.group, pair.node, threads)));
      rows.push_back(std::move(row));
    }
  }
  if (rows.empty()) return {};
  return "\nby threads, from the nearest CPUs (loaded: read latency while the others read):\n" +
         table({right("node"), left("kind"), right("threads"), right("read"), right("write"),
                right("both"), right("at random"), right("each 4th line"), right("tiles of 4 KiB"),
                right("loaded")},
               rows, {})
             .text;
}

std::string pairs_text(const Calibrated& found) {
  std::string text;
  for (const Result& result : found.results) {
    if (result.task.other < 0 || result.value <= 0) continue;
    const std::string node = std::to_string(result.task.node),
                      other = std::to_string(result.task.other);
    if (result.task.quantity == Quantity::read_both)
      text += "nodes " + node + " and " + other + " read at once: " + value_of(&result) + "\n";
    else
      text += "moving a page of " +
              format_size(result.task.quantity == Quantity::move_huge ? huge_page_size()
                                                                      : page_size()) +
              " from node " + other + " to " + node + ": " + value_of(&result) + "\n";
  }
  return text.empty() ? text : "\n" + text;
}

std::string left_out_text(const Calibrated& found) {
  std::string text;
  for (const PairOutcome& pair : found.pairs) {
    const std::string where = "node " + std::to_string(pair.node) + " from CPUs " +
                              format_numbers(found.groups[pair.group].all) + ": ";
    std::string names;
    for (const std::string& name : pair.left_out)
      names += (names.empty() ? "" : ", ") + name;
    if (!names.empty()) text += where + "not used: " + names + "\n";
  }
  std::vector<std::string> problems;
  for (const Result& result : found.results)
    if (!result.problem.empty() && std::ranges::find(problems, result.problem) == problems.end())
      problems.push_back(result.problem);
  for (const std::string& problem : problems)
    text += "not measured: " + problem + "\n";
  if (found.not_begun > 0)
    text += std::to_string(found.not_begun) + " of " + std::to_string(found.tasks) +
            " measurements were not begun: --time gives more time\n";
  return text;
}

} // namespace

std::string calibrated_text(const Calibrated& found) {
  return figures_text(found) + curves_text(found) + pairs_text(found) + left_out_text(found);
}

std::string calibrated_json(const Calibrated& found, const PlatformFile& written,
                            const std::string& file) {
  Json results = Json::array();
  for (const Result& result : found.results) {
    Json entry = Json::parse(line_of(result));
    entry["cpus"] = format_numbers(found.groups[result.task.group].all);
    if (result.value > 0) entry["trusted"] = is_trusted(result);
    if (!result.visits.empty()) entry["visits"] = result.visits;
    results.push_back(std::move(entry));
  }
  Json left_out = Json::array();
  for (const PairOutcome& pair : found.pairs)
    for (const std::string& name : pair.left_out)
      left_out.push_back({{"node", pair.node},
                          {"cpus", format_numbers(found.groups[pair.group].all)},
                          {"figure", name}});
  const Json all = {{"version", 1},
                    {"file", file.empty() ? Json(nullptr) : Json(file)},
                    {"platform", Json::parse(write_platform_file(written))},
                    {"not_begun", found.not_begun},
                    {"not_used", std::move(left_out)},
                    {"results", std::move(results)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace omptier
