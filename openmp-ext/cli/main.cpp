// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry of the omptier command: puts the subcommands together and turns their outcome into the exit
// status that docs/design.md fixes (0 done, 1 found something, 2 usage, 124-128+n of a program
// run).
#include "cli/command.hpp"

#include <cstdio>
#include <filesystem>

namespace omptier {

int fail(const char* command, int status, const std::string& line) {
  std::fprintf(stderr, "omptier %s: %s\n", command, line.c_str());
  return status;
}

} // namespace omptier

// What leaves it is memory running out before there is a command.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  CLI::App app{"Places the data of OpenMP programs in DRAM, HBM, NVM and CXL memory."};
  app.name("omptier");
  app.set_version_flag("--version", "omptier " OMPTIER_VERSION);
  app.require_subcommand(1);

  omptier::CommandContext context;
  std::error_code ignored;
  context.self = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
#define OMPTIER_COMMAND(name) omptier::add_##name(app, context);
#include "cli/commands.def"
#undef OMPTIER_COMMAND

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "omptier: %s (omptier %s--help says more)\n", error.what(),
                 app.get_subcommands().empty()
                     ? ""
                     : (app.get_subcommands().front()->get_name() + " ").c_str());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "omptier: %s\n", error.what());
    return 125;
  }
  return context.status;
}
