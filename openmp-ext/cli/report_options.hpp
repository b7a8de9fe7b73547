// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The look of a report's text: what the command line asks for, and what standard output can show.
#pragma once

#include "cli/report_text.hpp"

#include <CLI/CLI.hpp>
#include <string>

namespace omptier {

struct TextArguments {
  ProfileTextOptions options;
  std::string columns;
  double minimum = -1; // percent; below 0: none was given
  int width = -1;      // below 0: none was given
};

// The arguments must outlive the parsing.
void add_text_options(CLI::App& command, TextArguments& arguments);

// Defaults: a terminal's own width, colour and characters; elsewhere k_plain_width, no colour.
Parsed<ProfileTextOptions> text_options(const TextArguments& arguments);

inline constexpr unsigned k_plain_width = 120; // of pipes and files
inline constexpr int k_least_width = 40;

} // namespace omptier
