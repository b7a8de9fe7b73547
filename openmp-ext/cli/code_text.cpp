// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See code_text.hpp.
#include "cli/code_text.hpp"

#include "base/text.hpp"
#include "cli/share_cells.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

constexpr std::size_t k_most_loops = 4;   // rows under one function
constexpr double k_least_of_code = 0.001; // of all samples, for a row

struct Gathered {
  CodePlace all;
  std::map<std::string, double> lines; // weight by label
  std::map<std::string, CodePlace> loops;
};

class Gathering {
public:
  Gathering(const ProfileSummary& summary, Symbols& symbols)
      : summary_(summary), symbols_(symbols) {}

  void add(const CodeSummary& code) {
    const std::string label = label_of(code.at);
    Gathered& function = functions_[{code.at.module, function_in(label)}];
    function.lines[label] += code.weight;
    count(function.all, code);
    if (code.loop != 0)
      count(function.loops[label_of({code.at.module, code.loop + 1})], code);
  }

  std::vector<CodePlace> finish() {
    std::vector<CodePlace> list;
    for (auto& [key, function] : functions_) {
      CodePlace& all = list.emplace_back(std::move(function.all));
      all.name = std::ranges::max_element(function.lines, {}, [](const auto& line) {
                   return line.second;
                 })->first;
      for (auto& [name, loop] : function.loops) {
        loop.name = name;
        all.loops.push_back(std::move(loop));
      }
      sort(all.loops);
    }
    sort(list);
    return list;
  }

private:
  std::string label_of(const Frame& at) const {
    if (!symbols_.resolve(summary_.modules[at.module], at.offset).known)
      return summary_.modules[at.module].name;
    return label_of_region(symbols_, summary_.modules, {at});
  }
  static std::string function_in(const std::string& label) {
    return label.substr(0, label.rfind(" ("));
  }

  static void count(CodePlace& place, const CodeSummary& code) {
    place.samples += code.samples;
    place.weight += code.weight;
  }

  void sort(std::vector<CodePlace>& places) const {
    double all = 0;
    for (const RegionSummary& region : summary_.regions)
      all += region.accesses.total();
    for (CodePlace& place : places)
      place.share = share_of_samples(summary_, place.weight, all, summary_.samples);
    std::ranges::stable_sort(places, std::greater{}, &CodePlace::weight);
  }

  const ProfileSummary& summary_;
  Symbols& symbols_;
  std::map<std::pair<std::uint32_t, std::string>, Gathered> functions_;
};

} // namespace

std::vector<CodePlace> functions_of(const ProfileSummary& summary, Symbols& symbols) {
  Gathering gathering(summary, symbols);
  for (const CodeSummary& code : summary.code)
    if (code.samples > 0) gathering.add(code);
  return gathering.finish();
}

std::string code_text(const ProfileSummary& summary, const std::vector<CodePlace>& functions,
                      const ProfileTextOptions& options) {
  const double least = std::max(k_least_of_code, options.minimum.value_or(0));
  std::vector<TableRow> rows;
  const auto add = [&](const CodePlace& place, const std::string& name) {
    rows.push_back(share_cells(summary, name, place.share, options.look()));
    rows.back().push_back(with_separators(place.samples));
  };
  std::size_t shown = 0;
  for (const CodePlace& function : functions) {
    if (function.share.value < least || shown == options.most_regions) break;
    ++shown;
    add(function, function.name);
    for (std::size_t i = 0; i < std::min(function.loops.size(), k_most_loops); ++i)
      if (function.loops[i].share.value >= least)
        add(function.loops[i], "  loop: " + function.loops[i].name);
  }
  if (rows.empty()) return "";
  std::vector<TableColumn> columns = share_columns(summary, "function, with its hottest line");
  columns.push_back({"samples", TableColumn::Align::right, 1});
  std::string text = "\n" + whole_table(columns, rows, options.look());
  if (shown < functions.size())
    text += "  … " + std::to_string(functions.size() - shown) + " more functions\n";
  return text;
}

nlohmann::json code_json(const std::vector<CodePlace>& functions) {
  nlohmann::json list = nlohmann::json::array();
  for (const CodePlace& function : functions) {
    nlohmann::json& json = list.emplace_back(nlohmann::json{{"label", function.name},
                                                            {"samples", function.samples},
                                                            {"share", function.share.value},
                                                            {"low", function.share.low},
                                                            {"high", function.share.high}});
    if (!function.loops.empty()) json["loops"] = code_json(function.loops);
  }
  return list;
}

} // namespace omptier
