// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry of the omptier command: puts the subcommands together and returns the exit status that
// docs/design.md fixes (0 done, 1 found something, 2 usage, 124-128+n of a program run).
#include "cli/command.hpp"
#include "cli/completion.hpp"
#include "cli/value_names.hpp"

#include <cstdio>
#include <filesystem>
#include <string_view>

namespace omptier {
namespace {

// Adds to CLI11's messages the word that was not recognised and what to write instead.
std::string explain_parse_error(const CLI::App& app, const CLI::ParseError& error, int argc,
                                char** argv) {
  if (app.get_subcommands().empty()) {
    std::string names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
      names += (names.empty() ? "" : ", ") + command->get_name();
    const std::string first = argc > 1 ? argv[1] : "";
    if (first.empty() || first[0] != '-')
      return (first.empty() ? "no command is named" : "there is no command " + first) +
             "; there are: " + names;
    return std::string(error.what()) + " (see omptier --help)";
  }
  const std::string command = app.get_subcommands().front()->get_name();
  std::string text = error.what();
  if (text == "command is required")
    text = "no program is named: omptier " + command +
           (command == "tune" ? " my.profile" : " [options]") + " -- ./program [arguments]";
  if (text == "profiles is required")
    text = "no profile is named: omptier " + command + (command == "explain" ? " NAME" : "") +
           " my.profile" + (command == "tune" ? " -- ./program [arguments]" : "");
  if (text == "site is required") text = "no allocation is named: omptier explain NAME my.profile";
  if (text == "a is required" || text == "b is required")
    text = "two plans or two profiles are compared: omptier diff a.plan b.plan";
  return text + " (see omptier " + command + " --help)";
}

// `omptier complete -- WORD...`, for the shells; not parsed, as the words are a command line.
void print_completion(CLI::App& app, const CommandContext& context,
                      std::vector<std::string> words) {
  if (!words.empty() && words[0] == "--") words.erase(words.begin());
  const CommandText root = describe_command(app, names_of_values(app, context));
  std::fputs(text_of(complete(root, words)).c_str(), stdout);
}

} // namespace
} // namespace omptier

// Only running out of memory before there is a command can throw past this.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  CLI::App app{"Places the data of OpenMP programs in DRAM, HBM, NVM and CXL memory."};
  app.name("omptier");
  app.set_version_flag("--version", "omptier " OMPTIER_VERSION);
  app.require_subcommand(1);

  omptier::CommandContext context;
  context.version = OMPTIER_VERSION;
  std::error_code ignored;
  context.self = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
  // Building the options of all commands takes half of our start time: build those of the command
  // that is named, or all if none is, or all are spoken of.
  const std::string_view first = argc > 1 ? argv[1] : "";
  bool named = false;
#define OMPTIER_COMMAND(name) named = named || first == #name;
#include "cli/commands.def"
#undef OMPTIER_COMMAND
  if (first == "help") named = false;
#define OMPTIER_COMMAND(name)                                                                      \
  if (!named || first == #name) omptier::add_##name(app, context);
#include "cli/commands.def"
#undef OMPTIER_COMMAND
  // Last: commands inherit it.
  app.footer("  omptier record -o my.profile -- ./my_program   which allocations matter?\n"
             "  omptier report my.profile                      look\n"
             "  omptier advise my.profile -o my.plan           decide, with reasons\n"
             "  omptier run --plan my.plan -- ./my_program     the same program, placed\n"
             "More: omptier help.");

  try {
    if (first == "complete") {
      omptier::print_completion(app, context, {argv + 2, argv + argc});
      return 0;
    }
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "omptier: %s\n",
                 omptier::explain_parse_error(app, error, argc, argv).c_str());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "omptier: %s\n", error.what());
    return 125;
  }
  return context.status;
}
