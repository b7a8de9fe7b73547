// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line as data: what man pages and completion are made from. It is read from the
// parser's own definitions, so no option is written down twice. What an option takes is told by its
// type name, which --help shows too.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace omptier {

struct ValueText {
  std::string word;                 // "FILE", "UINT", …; "" of flags
  std::string range;                // "1 to 32"; "" if any
  std::vector<std::string> choices; // all that it can be; empty: not known
  bool list = false;                // several, separated by commas
};

struct OptionText {
  std::vector<std::string> names; // "-o", "--output"; of a positional one its name
  std::string description;
  ValueText value;
  bool takes_value = false;
  bool value_needed = false; // else only "--name=value" is sure to be its value
  bool required = false, repeated = false;
  std::vector<std::string> excludes; // other options, each by its first long name
};

struct CommandText {
  std::string name, description, footer;
  std::vector<OptionText> options, positionals;
  bool program_follows = false; // all from the first positional word on is another program's
  std::vector<CommandText> commands;
};

// How a word of type names completes. Others ("TEXT", "KIND:SIZE,...") complete to nothing.
inline constexpr std::string_view k_file_word = "FILE", k_program_word = "PROGRAM";

// The names that a type name stands for, such as MACHINE; empty: for none.
using NamesOf = std::function<std::vector<std::string>(std::string_view word)>;

// Hidden options and commands are left out. Changes nothing in the parser.
CommandText describe_command(CLI::App& app, const NamesOf& names_of);

// Null: there is none.
const CommandText* find_command(const CommandText& of, std::string_view name);
const OptionText* find_option(const CommandText& of, std::string_view name);

} // namespace omptier
