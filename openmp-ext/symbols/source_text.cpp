// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See source_text.hpp: the tokens of a file and its macros. source_place.cpp interprets a place.
#include "symbols/source_text.hpp"

#include "symbols/source_place.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace omptier {
namespace {

constexpr std::uintmax_t k_largest_file = 8 << 20; // generated sources may be as large as data

bool begins_name(char letter) {
  return std::isalpha(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

bool continues_name(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

// Comments may continue from line to line.
class Tokenizer {
public:
  explicit Tokenizer(std::vector<Token>& tokens) : tokens_(tokens) {}

  void add(std::string_view text, std::uint32_t line) {
    for (std::size_t at = 0; at < text.size();) {
      if (in_comment_) {
        const auto end = text.find("*/", at);
        in_comment_ = end == std::string_view::npos;
        at = in_comment_ ? text.size() : end + 2;
      } else if (text.substr(at, 2) == "//") {
        return;
      } else if (text.substr(at, 2) == "/*") {
        in_comment_ = true;
        at += 2;
      } else if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
        ++at;
      } else {
        const std::size_t bytes = length(text.substr(at));
        tokens_.push_back(
            {std::string(text.substr(at, bytes)), line, static_cast<std::uint32_t>(at + 1)});
        at += bytes;
      }
    }
  }
  bool in_comment() const { return in_comment_; }

private:
  static std::size_t length(std::string_view text) {
    if (continues_name(text[0])) return run_of_name(text);
    if (text[0] == '"' || text[0] == '\'') return quoted(text);
    // "<" and ">" stay single, because they may belong to templates.
    for (const std::string_view operation : {"->", "::", "==", "!=", "<=", ">=", "+=", "-=", "*=",
                                             "/=", "%=", "&=", "|=", "^=", "&&", "||", "++", "--"})
      if (text.starts_with(operation)) return operation.size();
    return 1;
  }
  static std::size_t run_of_name(std::string_view text) {
    const auto end = std::ranges::find_if_not(text, continues_name);
    return static_cast<std::size_t>(end - text.begin());
  }
  static std::size_t quoted(std::string_view text) {
    for (std::size_t at = 1; at < text.size(); ++at) {
      if (text[at] == '\\')
        ++at;
      else if (text[at] == text[0])
        return at + 1;
    }
    return text.size();
  }

  std::vector<Token>& tokens_;
  bool in_comment_ = false;
};

std::vector<Token> tokens_of(const std::string& text) {
  std::vector<Token> tokens;
  Tokenizer(tokens).add(text, 0);
  return tokens;
}

std::size_t first_letter(const std::string& line) {
  return line.find_first_not_of(" \t");
}

} // namespace

bool Token::is_name() const {
  return begins_name(text[0]);
}

SourceText::SourceText(const std::string& file) {
  read(file, false);
}

void SourceText::read(const std::string& file, bool macros_only) {
  std::error_code no_file;
  if (const auto bytes = std::filesystem::file_size(file, no_file);
      no_file || bytes > k_largest_file)
    return;
  std::ifstream in(file);
  std::vector<Token> unused;
  Tokenizer tokenizer(macros_only ? unused : tokens_);
  std::uint32_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const auto first = first_letter(line);
    if (tokenizer.in_comment() || first == std::string::npos || line[first] != '#') {
      tokenizer.add(line, number);
      continue;
    }
    for (std::string more; line.ends_with('\\') && std::getline(in, more); ++number)
      line.replace(line.size() - 1, 1, " " + more);
    const auto quote = line.find('"');
    if (line.find("define") != std::string::npos)
      add_macro(line.substr(first + 1));
    else if (!macros_only && line.find("include") != std::string::npos && quote != line.npos)
      read(std::filesystem::path(file).parent_path() /
               line.substr(quote + 1, line.find('"', quote + 1) - quote - 1),
           true);
  }
}

// "define NAME(a, b) body"; other macros are no calls.
void SourceText::add_macro(const std::string& definition) {
  const std::vector<Token> tokens = tokens_of(definition);
  if (tokens.size() < 4 || tokens[0].text != "define" || tokens[2].text != "(" ||
      tokens[2].column != tokens[1].column + tokens[1].text.size())
    return;
  Macro macro;
  std::size_t at = 3;
  for (; at < tokens.size() && tokens[at].text != ")"; ++at)
    if (tokens[at].is_name()) macro.parameters.push_back(tokens[at].text);
  if (at < tokens.size())
    macro.body.assign(tokens.begin() + static_cast<std::ptrdiff_t>(at) + 1, tokens.end());
  macros_[tokens[1].text] = std::move(macro);
}

// Replaces the use of a macro by its body; at becomes the place of the call in it.
bool SourceText::expand(std::vector<Token>& tokens, std::size_t& at) const {
  const auto found = macros_.find(tokens[at].text);
  if (found == macros_.end() || at + 1 >= tokens.size() || tokens[at + 1].text != "(") return false;
  const std::size_t end = closing_of(tokens, at + 1);
  if (end >= tokens.size()) return false;
  const auto arguments = list_items(tokens, at + 2, end);
  std::vector<Token> body;
  for (const Token& token : found->second.body) {
    const auto& names = found->second.parameters;
    const auto parameter =
        static_cast<std::size_t>(std::ranges::find(names, token.text) - names.begin());
    if (parameter < names.size() && parameter < arguments.size()) {
      const auto [from, to] = arguments[parameter];
      body.insert(body.end(), tokens.begin() + static_cast<std::ptrdiff_t>(from),
                  tokens.begin() + static_cast<std::ptrdiff_t>(to));
    } else {
      body.push_back(token);
    }
  }
  std::size_t call = body.size();
  for (std::size_t i = 0; i < body.size() && call == body.size(); ++i)
    if (allocates_by_name(body[i].text) &&
        (body[i].text == "new" || (i + 1 < body.size() && body[i + 1].text == "(")))
      call = i;
  if (call == body.size()) return false;
  const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(at);
  tokens.erase(begin, tokens.begin() + static_cast<std::ptrdiff_t>(end) + 1);
  tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at), body.begin(), body.end());
  at += call;
  return true;
}

std::optional<SourcePlace> SourceText::at(std::uint32_t line, std::uint32_t column) const {
  const auto found = std::ranges::find_if(tokens_, [&](const Token& token) {
    return token.line == line && token.column <= column &&
           column < token.column + token.text.size();
  });
  if (column == 0 || found == tokens_.end()) return std::nullopt;
  std::size_t at = static_cast<std::size_t>(found - tokens_.begin());
  // A compiler may point at the end of a macro's use.
  if (found->text == ")") {
    const std::size_t open = opening_of(tokens_, at);
    if (open != k_no_token && open > 0 && macros_.contains(tokens_[open - 1].text)) at = open - 1;
  }
  if (!macros_.contains(tokens_[at].text)) return place_at(tokens_, at);
  std::vector<Token> expanded = tokens_;
  std::vector<std::string> used; // within itself a macro's name is no macro
  while (used.size() < 4 && std::ranges::find(used, expanded[at].text) == used.end()) {
    used.push_back(expanded[at].text);
    if (!expand(expanded, at)) break;
  }
  return place_at(expanded, at);
}

} // namespace omptier
