// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier check: reports by feature what works here, what does not, and what to do about it; for a
// given program, whether it will run with OMPTier. Features are tried, not assumed: on one page of
// memory, or with one event that is closed again.
#include "cli/check.hpp"

#include "base/options.hpp"
#include "cli/launch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

const char* word_of(FindingState state) {
  switch (state) {
  case FindingState::works:
    return "works";
  case FindingState::limited:
    return "limited";
  case FindingState::fails:
    return "FAILS";
  }
  return "";
}

struct CheckOptions {
  bool variables = false;
  bool notices = false;
  bool markdown = false;
  bool json = false;
  std::string program;
};

// Uses OMPTIER_NODES if it is valid; check_variables reports what is wrong with it.
Parsed<Platform> platform_here() {
  DiscoverOptions options;
  if (const char* text = std::getenv(info_of(Option::nodes).name); text != nullptr && *text != '\0')
    if (const auto forced = parse_nodes(text)) options.forced = *forced;
  auto platform = discover_platform(options);
  return platform ? platform : discover_platform({});
}

int check(const CheckOptions& wanted, const CommandContext& context) {
  if (wanted.notices) {
    std::fputs((wanted.markdown ? notices_markdown() : notices_text()).c_str(), stdout);
    return 0;
  }
  if (wanted.variables || wanted.markdown) {
    std::fputs((wanted.markdown ? variables_markdown() : variables_text()).c_str(), stdout);
    return 0;
  }
  std::error_code error;
  std::string program = path_of_program(wanted.program);
  if (program.empty()) program = wanted.program;
  if (!program.empty() && !std::filesystem::is_regular_file(program, error))
    return fail("check", 2,
                wanted.program + ": " + (error ? error.message() : "not a file") +
                    "; give the path of a program");
  Findings findings;
  const auto platform = platform_here();
  if (platform) {
    check_memory(*platform, findings);
    check_kernel(*platform, findings);
  } else {
    findings.fails("memory", platform.error(), "run 'lstopo --version' to see whether hwloc works");
  }
  check_sampling(findings);
  check_variables(findings);
  check_runtime(context, findings);
  if (!program.empty()) check_program(program, find_libraries(context), findings);
  std::fputs((wanted.json ? findings.json() : findings.text()).c_str(), stdout);
  return findings.any_fails() ? 1 : 0;
}

} // namespace

bool Findings::any_fails() const {
  return std::ranges::any_of(list_,
                             [](const Finding& f) { return f.state == FindingState::fails; });
}

std::string Findings::json() const {
  using Json = nlohmann::ordered_json;
  constexpr const char* k_states[] = {"works", "limited", "fails"};
  Json list = Json::array();
  for (const Finding& finding : list_)
    list.push_back({{"state", k_states[static_cast<unsigned>(finding.state)]},
                    {"feature", finding.feature},
                    {"what", finding.what},
                    {"advice", finding.advice.empty() ? Json(nullptr) : Json(finding.advice)}});
  const Json all = {{"version", 1}, {"fails", any_fails()}, {"findings", std::move(list)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string Findings::text() const {
  std::size_t width = 0;
  for (const Finding& finding : list_)
    width = std::max(width, finding.feature.size());
  std::string text;
  for (const Finding& finding : list_) {
    std::string word = word_of(finding.state);
    word.resize(9, ' ');
    std::string feature = finding.feature;
    feature.resize(width + 2, ' ');
    text += word + feature + finding.what + "\n";
    if (!finding.advice.empty())
      text += std::string(word.size() + feature.size(), ' ') + "-> " + finding.advice + "\n";
  }
  return text;
}

void add_check(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "check", "Check what works here, what does not, and what to do; also for one program");
  const auto wanted = std::make_shared<CheckOptions>();
  command->add_option("program", wanted->program, "Program to look at (it is not run)")
      ->type_name("PROGRAM");
  CLI::Option* as_json = command->add_flag("--json", wanted->json, "The findings as JSON");
  command->add_flag("--variables", wanted->variables, "List the OMPTIER_* variables")
      ->excludes(as_json);
  command
      ->add_flag("--notices", wanted->notices,
                 "List the libraries' warnings and information messages, by number")
      ->excludes(as_json);
  command->add_flag("--markdown", wanted->markdown,
                    "List them as the page docs/environment.md or docs/notices.md");
  command->callback([wanted, &context] { context.status = check(*wanted, context); });
}

} // namespace omptier
