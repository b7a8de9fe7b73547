// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The topics of `omptier help`: the pages of docs/, which are installed with the command, and the
// commands themselves.
#pragma once

#include "cli/command.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace omptier {

struct HelpPage {
  std::string name, title, path; // "plan-format"; its first heading
};

// The pages beside this omptier (of an installation or a build tree), by name; empty: none are.
std::vector<HelpPage> help_pages(const CommandContext& context);

// Names of all topics: pages, then commands.
std::vector<std::string> topic_names(const CLI::App& app, const CommandContext& context);

// What `omptier help` prints.
std::string topics_text(const CLI::App& app, const CommandContext& context);

// The page as it is written, its headings bold on a terminal (outside of blocks of code).
std::string with_bold_headings(std::string_view page);

} // namespace omptier
