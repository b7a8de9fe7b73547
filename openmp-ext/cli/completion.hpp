// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a word of the command line may become: the one answer behind the scripts for bash, zsh and
// fish (completion/), which call `omptier complete -- WORD...` at each tab; --help does not list
// it. So what a shell offers is what this very omptier takes.
#pragma once

#include "cli/command_tree.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace omptier {

struct Completion {
  enum class Kind { names, files, program };
  struct Name {
    std::string text, description; // the whole word; one line, may be ""
  };
  Kind kind = Kind::names;
  std::vector<Name> names;    // those that begin with the last word
  std::size_t program_at = 0; // kind program: index in words where another program's begin
};

// words: what follows "omptier", up to the word being typed (the last; "" if it is not begun).
Completion complete(const CommandText& root, std::span<const std::string> words);

// For the scripts: ":files", ":program N" (N counts "omptier" as 0), or a line a name, with a tab
// between word and description.
std::string text_of(const Completion& completion);

} // namespace omptier
