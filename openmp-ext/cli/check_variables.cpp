// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The OMPTIER_* variables of the environment, checked against the table of options; and that table
// as text and as the page docs/environment.md.
#include "base/options.hpp"
#include "cli/check.hpp"
#include "cli/nearest.hpp"
#include "placement/job.hpp"
#include "placement/strategy.hpp"
#include "plan/plan.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace omptier {
namespace {

const char* word_of(OptionType type) {
  switch (type) {
  case OptionType::text:
    return "text";
  case OptionType::path:
    return "path";
  case OptionType::size:
    return "size";
  case OptionType::number:
    return "number";
  case OptionType::flag:
    return "0 or 1";
  case OptionType::capacity:
    return "kind:size,...";
  case OptionType::nodes:
    return "kind:nodes,...";
  }
  return "";
}

// Errors that only the value's reader finds, beyond its type: "" = none.
std::string problem_of_use(Option option, const char* text) {
  switch (option) {
  case Option::plan: {
    const auto plan = read_plan(text);
    return plan ? std::string() : plan.error();
  }
  case Option::children:
    for (const char* value : {"yes", "no", "all"})
      if (std::strcmp(text, value) == 0) return {};
    return "it is yes, no or all";
  case Option::strategy: {
    const auto strategy = parse_strategy(text);
    return strategy ? std::string() : strategy.error();
  }
  case Option::share: {
    const auto share = parse_share(text, [](const char*) -> const char* { return nullptr; });
    return share ? std::string() : share.error();
  }
  case Option::nodes: {
    const auto platform = discover_platform({"", *parse_nodes(text)});
    return platform ? std::string() : platform.error();
  }
  case Option::events:
    for (const char* known : {"auto", "exact", "machine", "hardware", "perf", "timer", "none"})
      if (std::strcmp(text, known) == 0) return {};
    return "\"" + std::string(text) + "\" is no source of samples";
  default:
    return {};
  }
}

void check_known(const OptionInfo& option, const char* text, Findings& findings) {
  std::string problem = problem_with(option.type, text);
  if (problem.empty()) problem = problem_of_use(option.id, text);
  if (problem.empty())
    findings.works("variables", std::string(option.name) + "=" + text);
  else
    findings.fails("variables", std::string(option.name) + ": " + problem, option.help);
}

std::string nearest_variable(std::string_view name) {
  std::vector<std::string> names;
  for (const OptionInfo& option : all_options())
    names.emplace_back(option.name);
  return nearest_names(name, names, 1).front();
}

} // namespace

void check_variables(Findings& findings) {
  unsigned seen = 0;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("OMPTIER_")) continue;
    const std::string_view name = text.substr(0, text.find('='));
    ++seen;
    const auto options = all_options();
    const auto known = std::ranges::find_if(
        options, [&](const OptionInfo& option) { return name == option.name; });
    if (known == options.end())
      findings.fails("variables", std::string(name) + " is no variable of OMPTier; it is ignored",
                     "perhaps " + nearest_variable(name) +
                         "; 'omptier check --variables' lists them all");
    else if (text.size() > name.size() + 1)
      check_known(*known, text.data() + name.size() + 1, findings);
  }
  if (seen == 0) findings.works("variables", "no OMPTIER_* variable is set");
}

std::string variables_text() {
  using Row = std::array<std::string, 4>;
  std::vector<Row> rows = {{"name", "type", "default", "meaning"}};
  for (const OptionInfo& option : all_options())
    rows.push_back({option.name, word_of(option.type),
                    *option.fallback != '\0' ? option.fallback : "-", option.help});
  std::array<std::size_t, 4> width{};
  for (const Row& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c)
      width[c] = std::max(width[c], row[c].size());
  std::string text;
  for (Row row : rows) {
    for (std::size_t c = 0; c + 1 < row.size(); ++c)
      row[c].resize(width[c] + 2, ' ');
    text += row[0] + row[1] + row[2] + row[3] + "\n";
  }
  return text;
}

std::string variables_markdown() {
  std::string text =
      "# Environment variables\n\n"
      "Made by `omptier check --markdown` from the table `openmp-ext/base/options.def`; do not "
      "edit it here (a test compares).\n\n"
      "A value that cannot be read gives one warning and the default; an `OMPTIER_*` variable that "
      "is not in this table gives one warning. `omptier check` shows which are set and whether "
      "they can be used. Sizes: `K`, `M`, `G`, `T` are powers of 1024, plain digits are bytes. "
      "Kinds: `dram`, `hbm`, `nvm`, `cxl`. Nodes: `1+3` or `2-3`.\n\n"
      "| variable | type | default | read by | meaning |\n"
      "| --- | --- | --- | --- | --- |\n";
  for (const OptionInfo& option : all_options()) {
    std::string help;
    for (const char c : std::string_view(option.help))
      help += c == '|' ? std::string("\\|") : std::string(1, c);
    const std::string fallback =
        *option.fallback != '\0' ? "`" + std::string(option.fallback) + "`" : "";
    text += "| `" + std::string(option.name) + "` | " + word_of(option.type) + " | " + fallback +
            " | " + option.reader + " | " + help + " |\n";
  }
  return text;
}

} // namespace omptier
