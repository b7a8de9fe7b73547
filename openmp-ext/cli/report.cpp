// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier report: prints profiles as text with bars or as JSON. For a profile that cannot be read
// it prints one line with file and place (status 2); a truncated one is read up to the cut, with a
// note.
#include "cli/code_text.hpp"
#include "cli/command.hpp"
#include "cli/report_text.hpp"

#include <clocale>
#include <cstdio>
#include <cstring>
#include <langinfo.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

struct ReportArguments {
  std::vector<std::string> profiles;
  std::size_t most_sites = 20, most_regions = 10;
  bool json = false, force = false, blocks = false;
};

bool terminal_speaks_utf8() {
  std::setlocale(LC_CTYPE, "");
  const bool utf8 = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  std::setlocale(LC_CTYPE, "C");
  return utf8;
}

int report(const ReportArguments& arguments) {
  Symbols symbols;
  const Parsed<ProfileSummary> summary = summarize_files(
      arguments.profiles, [&](const ModuleInfo& module) { return symbols.statics_of(module); },
      arguments.force ? Programs::any : Programs::one,
      [&](const auto& modules, const auto& frames) {
        return place_in_source(symbols, modules, frames);
      });
  if (!summary) return fail("report", 2, summary.error());
  const ProfileNames names = names_of(*summary, symbols);
  for (const std::string& note : summary->notes)
    std::fprintf(stderr, "omptier report: %s\n", note.c_str());
  for (const std::string& problem : symbols.problems())
    std::fprintf(stderr, "omptier report: %s\n", problem.c_str());
  std::string text;
  if (arguments.json)
    text = profile_json(*summary, names, symbols)
               .dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
           "\n";
  else {
    const ProfileTextOptions options{arguments.most_sites, arguments.most_regions,
                                     terminal_speaks_utf8(), arguments.blocks};
    text = profile_text(*summary, names, options);
    if (summary->regions.size() == 1)
      text += code_text(*summary, functions_of(*summary, symbols), options);
  }
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    return fail("report", 125, "standard output cannot be written");
  return 0;
}

} // namespace

void add_report(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("report", "Show what profiles hold");
  auto arguments = std::make_shared<ReportArguments>();
  command->add_option("profiles", arguments->profiles, "Profiles written by omptier record")
      ->required();
  command->add_flag("--json", arguments->json, "JSON instead of text");
  command->add_flag("--force", arguments->force, "Join profiles of different programs");
  command->add_option("--sites", arguments->most_sites, "Rows for allocation sites (default 20)");
  command->add_option("--regions", arguments->most_regions,
                      "Rows for regions or functions (default 10)");
  command->add_flag("--blocks", arguments->blocks,
                    "Rows for the single blocks of a site (--json always has them)");
  command->callback([&context, arguments] { context.status = report(*arguments); });
}

} // namespace omptier
