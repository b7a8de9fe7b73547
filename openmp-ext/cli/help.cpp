// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier help: the documentation without a network: lists topics, shows one, through a pager if
// standard output is a terminal. The build calls `omptier help --man FOLDER` for the man pages.
#include "cli/help_topics.hpp"
#include "cli/man_page.hpp"
#include "cli/nearest.hpp"
#include "cli/value_names.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>

namespace omptier {
namespace {

struct HelpArguments {
  std::string topic, man_folder;
};

// False: there is no such pager; nothing was shown.
bool show_by_pager(const std::string& pager, const std::string& text) {
  ::setenv("LESS", "FRX", 0); // ends with a short text, passes bold on, leaves it on the screen
  FILE* pipe = ::popen(pager.c_str(), "w");
  if (pipe == nullptr) return false;
  const auto before = std::signal(SIGPIPE, SIG_IGN); // who has read enough ends the pager
  std::fwrite(text.data(), 1, text.size(), pipe);
  const int status = ::pclose(pipe);
  std::signal(SIGPIPE, before);
  return !WIFEXITED(status) || WEXITSTATUS(status) < 126;
}

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

int show(const std::string& text) {
  if (::isatty(STDOUT_FILENO) == 0) return write_file("help", "-", text);
  const bool knows_bold = !variable("TERM").empty() && variable("TERM") != "dumb";
  const std::string own = "less -R 2>/dev/null"; // there may be none
  const std::string pager = variable("PAGER").empty() ? own : variable("PAGER");
  // Of others than less it is not known that they pass bold letters on, nor of less without R.
  const std::string less = variable("LESS");
  const bool passes_bold =
      pager == own || (pager.starts_with("less") && (less.empty() || less.find('R') != less.npos));
  const std::string bold = knows_bold ? with_bold_headings(text) : text;
  if (show_by_pager(pager, passes_bold ? bold : text)) return 0;
  return write_file("help", "-", bold);
}

std::string read_page(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int write_man_pages(const CommandText& root, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const ManPage& page : man_pages(root, OMPTIER_VERSION))
    if (const int status =
            write_file("help", (std::filesystem::path(folder) / page.file).string(), page.text);
        status != 0)
      return status;
  return 0;
}

int help(CLI::App& app, const CommandContext& context, const HelpArguments& arguments) {
  if (!arguments.man_folder.empty())
    return write_man_pages(describe_command(app, names_of_values(app, context)),
                           arguments.man_folder);
  if (arguments.topic.empty()) return show(topics_text(app, context));
  const auto pages = help_pages(context);
  const auto page = std::ranges::find(pages, arguments.topic, &HelpPage::name);
  if (page != pages.end()) {
    const std::string text = read_page(page->path);
    return text.empty() ? fail("help", 125, page->path + ": cannot be read; reinstall OMPTier")
                        : show(text);
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_name() == arguments.topic) return show(command->help("omptier"));
  std::string near;
  for (const std::string& name : nearest_names(arguments.topic, topic_names(app, context), 3))
    near += (near.empty() ? "" : ", ") + name;
  return fail("help", 2,
              "there is no topic " + arguments.topic + "; near to it are: " + near +
                  " (omptier help lists all)" +
                  (pages.empty() ? "; the pages of docs/ are not installed" : ""));
}

} // namespace

void add_help(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("help", "Show the documentation: a page, or a command's options");
  const auto arguments = std::make_shared<HelpArguments>();
  command->add_option("topic", arguments->topic, "What to show (default: the list of topics)")
      ->type_name("TOPIC");
  command->add_option("--man", arguments->man_folder)->group(""); // for the build
  command->callback(
      [arguments, &app, &context] { context.status = help(app, context, *arguments); });
}

} // namespace omptier
