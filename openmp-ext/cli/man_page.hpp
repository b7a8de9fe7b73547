// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Man pages from the command line's own definitions and the table of variables.
#pragma once

#include "cli/command_tree.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace omptier {

struct ManPage {
  std::string file, text; // "omptier-record.1"; in the language of groff's man macros
};

// omptier(1), with the variables, then one for each command.
std::vector<ManPage> man_pages(const CommandText& root, std::string_view version);

} // namespace omptier
