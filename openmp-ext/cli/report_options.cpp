// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See report_options.hpp.
#include "cli/report_options.hpp"

#include "cli/object_columns.hpp"

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <langinfo.h>
#include <sstream>
#include <sys/ioctl.h>
#include <unistd.h>

namespace omptier {
namespace {

bool speaks_utf8() {
  std::setlocale(LC_CTYPE, "");
  const bool utf8 = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  std::setlocale(LC_CTYPE, "C");
  return utf8;
}

// See no-color.org.
bool shows_colour() {
  const char *refused = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == 0) &&
         terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

unsigned width_of_output() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
      size.ws_col == 0)
    return k_plain_width;
  return std::max<unsigned>(size.ws_col, k_least_width);
}

std::vector<std::string> split_columns(const std::string& list) {
  std::vector<std::string> names;
  if (list == "all")
    for (const ObjectColumn& column : object_columns())
      names.emplace_back(column.name);
  else {
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');)
      names.push_back(word);
  }
  return names;
}

} // namespace

void add_text_options(CLI::App& command, TextArguments& arguments) {
  ProfileTextOptions& options = arguments.options;
  command.add_option("--sites", options.most_sites, "Rows for objects (default 20)");
  command.add_option("--regions", options.most_regions,
                     "Rows for regions or functions (default 10)");
  command.add_flag("--blocks", options.blocks,
                   "Rows for the single blocks of a site (--json always has them)");
  command
      .add_option("--columns", arguments.columns,
                  "Columns of objects, separated by commas, or all (default: as many as fit)")
      ->type_name("COLUMN,...");
  command.add_option("--sort", options.sort, "Objects by this column (default share)")
      ->type_name("COLUMN");
  command.add_option("--filter", options.filter, "Only objects with TEXT in their names")
      ->type_name("TEXT");
  command.add_option("--minimum", arguments.minimum, "Only rows with this share or more")
      ->type_name("PERCENT");
  command.add_option("--width", arguments.width,
                     "Columns of text (default: the terminal's; elsewhere 120; 0: no limit)");
  command.add_flag("--verbose,-v", options.verbose, "How the figures came about");
}

Parsed<ProfileTextOptions> text_options(const TextArguments& arguments) {
  ProfileTextOptions options = arguments.options;
  options.columns = split_columns(arguments.columns);
  if (const std::string problem = problem_with_columns(options); !problem.empty())
    return Parsed<ProfileTextOptions>::failure(problem);
  if (arguments.minimum != -1) {
    if (!(arguments.minimum >= 0 && arguments.minimum <= 100))
      return Parsed<ProfileTextOptions>::failure(
          "--minimum: give a share in percent, from 0 to 100");
    options.minimum = arguments.minimum / 100;
  }
  if (arguments.width != -1 && arguments.width != 0 &&
      (arguments.width < k_least_width || arguments.width > 10000))
    return Parsed<ProfileTextOptions>::failure("--width: give columns from " +
                                               std::to_string(k_least_width) +
                                               " to 10000, or 0 for no limit");
  options.width = arguments.width == -1 ? width_of_output()
                                        : static_cast<unsigned>(arguments.width);
  options.utf8 = speaks_utf8();
  options.colour = shows_colour();
  return options;
}

} // namespace omptier
