// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tokens of a C or C++ source say at one of them. Used by source_text.cpp.
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

// The bracket that closes what opens there, and back; past the end or k_no_token where none does.
std::size_t closing_of(const Tokens& tokens, std::size_t open);
std::size_t opening_of(const Tokens& tokens, std::size_t close);

// Begin and end of the parts of [begin, end) between the commas that are in no brackets.
std::vector<std::pair<std::size_t, std::size_t>> list_items(const Tokens& tokens, std::size_t begin,
                                                            std::size_t end);

// "malloc", "new", "xcalloc", "make_unique"
bool allocates_by_name(const std::string& name);

// at: a name, a bracket of its call, "new", or "=".
std::optional<SourcePlace> place_at(const Tokens& tokens, std::size_t at);

// The function around a token, from function_text.cpp, and what opens statements there.
FunctionText function_around(const Tokens& tokens, std::size_t at);

// The first token of the statement, behind "else", "public:" and such.
std::size_t statement_begin(const Tokens& tokens, std::size_t at);

// The names that a declaration from begin to end declares, by their tokens; none when it is no
// declaration.
std::vector<std::size_t> declared_in(const Tokens& tokens, std::size_t begin, std::size_t end);

// Where the members' initialisers of a constructor begin in a statement: behind ")" and ":".
std::size_t initialisers_of(const Tokens& tokens, std::size_t begin, std::size_t end);

} // namespace omptier
