// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tokens of a C or C++ source say at one of them.
#pragma once

#include "symbols/source_text.hpp"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace omptier {

using Tokens = std::vector<Token>;

inline constexpr std::size_t k_no_token = static_cast<std::size_t>(-1);

inline bool is_one_of(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

// The bracket that closes or opens the given one; past the end or k_no_token if there is none.
std::size_t closing_of(const Tokens& tokens, std::size_t open);
std::size_t opening_of(const Tokens& tokens, std::size_t close);

// Begin and end of the parts of [begin, end) between commas that are outside of brackets.
std::vector<std::pair<std::size_t, std::size_t>> list_items(const Tokens& tokens, std::size_t begin,
                                                            std::size_t end);

// "malloc", "new", "xcalloc", "make_unique"
bool allocates_by_name(const std::string& name);

// at: a name, a bracket of its call, "new", or "=".
std::optional<SourcePlace> place_at(const Tokens& tokens, std::size_t at);

// function_text.cpp defines this and the next three.
FunctionText function_around(const Tokens& tokens, std::size_t at);

// After "else", "public:" and such.
std::size_t statement_begin(const Tokens& tokens, std::size_t at);

// Tokens of the names that are declared between begin and end; none if it is no declaration.
std::vector<std::size_t> declared_in(const Tokens& tokens, std::size_t begin, std::size_t end);

// Where a constructor's member initialisers begin in a statement: after ")" and ":".
std::size_t initialisers_of(const Tokens& tokens, std::size_t begin, std::size_t end);

} // namespace omptier
