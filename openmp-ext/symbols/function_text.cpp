// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements, declarations and functions among C or C++ tokens (declared in source_place.hpp).
#include "symbols/source_place.hpp"

#include <algorithm>

namespace omptier {
namespace {

bool opens(const Token& token) {
  return is_one_of(token.text, {"(", "[", "{"});
}

bool closes(const Token& token) {
  return is_one_of(token.text, {")", "]", "}"});
}

bool is_control(const std::string& text) {
  return is_one_of(text, {"if", "for", "while", "switch", "catch"});
}

// "x{1}", "= {", "f({": no block of statements.
bool opens_list(const Tokens& tokens, std::size_t brace) {
  if (brace == 0) return false;
  while (brace > 1 && tokens[brace - 1].text == "{")
    --brace; // as the outermost of "{{{"
  const Token& before = tokens[brace - 1];
  if (is_one_of(before.text, {"=", ",", "(", "return"})) return true;
  if (!(before.is_name() || before.text == ">") ||
      is_one_of(before.text,
                {"else", "do", "try", "const", "noexcept", "mutable", "override", "final"}))
    return false;
  // "struct name : base<T> {", "namespace name {", "f() -> T {"; but "name{" of a variable.
  for (std::size_t at = brace; at-- > 0;) {
    if (is_one_of(tokens[at].text, {"struct", "class", "namespace", "union", "enum", "->"}))
      return false;
    if (is_one_of(tokens[at].text, {";", "{", "}", "(", ")", "="})) break;
  }
  return true;
}

// Behind "template <…>".
std::size_t behind_template(const Tokens& tokens, std::size_t at, std::size_t end) {
  while (at + 1 < end && tokens[at].text == "template" && tokens[at + 1].text == "<") {
    int depth = 0;
    for (++at; at < end; ++at) {
      depth += tokens[at].text == "<" ? 1 : tokens[at].text == ">" ? -1 : 0;
      if (depth == 0) break;
    }
    ++at;
  }
  return at;
}

std::size_t behind_template_arguments(const Tokens& tokens, std::size_t at, std::size_t end) {
  if (at >= end || tokens[at].text != "<") return at;
  int depth = 0;
  for (std::size_t i = at; i < end; ++i) {
    if (is_one_of(tokens[i].text, {";", "{", "&&", "||"})) return at;
    depth += tokens[i].text == "<" ? 1 : tokens[i].text == ">" ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return at;
}

// After the type that a declaration begins with; begin if there is none.
std::size_t behind_type(const Tokens& tokens, std::size_t begin, std::size_t end) {
  bool typed = false;
  std::size_t at = begin;
  while (at < end && tokens[at].is_name()) {
    const std::string& word = tokens[at].text;
    if (is_one_of(word, {"return", "else", "throw", "new", "delete", "goto", "using", "typedef",
                         "case", "operator", "co_return", "co_yield", "if", "for", "while"}))
      return begin;
    if (is_one_of(word, {"static", "const", "constexpr", "thread_local", "inline", "volatile",
                         "register", "extern", "typename", "struct", "class", "mutable", "restrict",
                         "__restrict", "__restrict__", "explicit", "virtual"})) {
      ++at;
      continue;
    }
    const bool builtin = is_one_of(word, {"unsigned", "signed", "long", "short", "int", "double",
                                          "float", "char", "void", "bool", "auto"});
    if (typed && !builtin) break;
    typed = true;
    at = behind_template_arguments(tokens, at + 1, end);
    while (at + 1 < end && tokens[at].text == "::" && tokens[at + 1].is_name())
      at = behind_template_arguments(tokens, at + 2, end);
  }
  return typed ? at : begin;
}

std::size_t behind_pointers(const Tokens& tokens, std::size_t at, std::size_t end) {
  while (at < end && is_one_of(tokens[at].text, {"*", "&", "&&", "const", "restrict", "__restrict",
                                                 "__restrict__", "volatile"}))
    ++at;
  return at;
}

// "(*rows)[n]": the name.
std::size_t pointer_to_array(const Tokens& tokens, std::size_t open, std::size_t end) {
  if (open >= end || tokens[open].text != "(") return k_no_token;
  const std::size_t name = behind_pointers(tokens, open + 1, end);
  const bool is_one = name > open + 1 && name + 2 < end && tokens[name].is_name() &&
                      tokens[name + 1].text == ")" && tokens[name + 2].text == "[";
  return is_one ? name : k_no_token;
}

std::vector<Parameter> parameters_in(const Tokens& tokens, std::size_t open, std::size_t close) {
  std::vector<Parameter> parameters;
  for (const auto& [begin, end] : list_items(tokens, open + 1, close)) {
    Parameter one;
    for (std::size_t at = begin; at < end; ++at) {
      if (is_one_of(tokens[at].text, {"=", "["})) break;
      if (tokens[at].is_name()) one.name = tokens[at].text;
      if (is_one_of(tokens[at].text, {"&", "&&"})) one.is_reference = true;
    }
    parameters.push_back(std::move(one));
  }
  return parameters;
}

// The name in front of a function's parameters, with those of its classes.
struct Header {
  std::size_t open = k_no_token; // the parenthesis of the parameters
  std::vector<std::string> name; // {"Mesh", "build"}; empty for a lambda
};

Header header_in(const Tokens& tokens, std::size_t begin, std::size_t end) {
  Header header;
  begin = behind_template(tokens, begin, end);
  for (std::size_t at = begin + 1; at < end; ++at) {
    if (tokens[at].text != "(") continue;
    const Token& before = tokens[at - 1];
    const bool lambda = before.text == "]";
    if (lambda || (before.is_name() && !is_one_of(before.text, {"decltype", "noexcept", "alignas",
                                                                "__attribute__", "requires"}))) {
      header.open = at;
      for (std::size_t name = at - 1; !lambda; name -= 2) {
        header.name.insert(header.name.begin(), tokens[name].text);
        std::size_t front = name;
        if (name > begin + 1 && tokens[name - 1].text == "::" && tokens[name - 2].text == ">") {
          int depth = 0; // "Array<T>::Array"
          for (front = name - 2; front > begin; --front) {
            depth += tokens[front].text == ">" ? 1 : tokens[front].text == "<" ? -1 : 0;
            if (depth == 0) break;
          }
          name = front + 1;
        }
        if (name < begin + 2 || (front == name && tokens[name - 1].text != "::") ||
            !tokens[name - 2].is_name())
          break;
      }
      // A lambda after it, as in "run([&](int i) {", is nearer to the brace.
      const std::size_t close = closing_of(tokens, at);
      if (lambda || close < end) return header;
      header = {};
      continue;
    }
    if (const std::size_t close = closing_of(tokens, at); close < end) at = close;
  }
  return header;
}

// "[&] {" and "[&](int i) {", anywhere in the statement.
bool opens_lambda(const Tokens& tokens, std::size_t brace, std::size_t begin, Header& header) {
  std::size_t at = brace;
  while (at > begin &&
         (tokens[at - 1].is_name() || is_one_of(tokens[at - 1].text, {"->", "::", "*", "&"})))
    --at;
  if (at == begin) return false;
  if (tokens[at - 1].text == "]") return true;
  if (tokens[at - 1].text != ")") return false;
  const std::size_t open = opening_of(tokens, at - 1);
  if (open == k_no_token || open <= begin || tokens[open - 1].text != "]") return false;
  header.open = open;
  return true;
}

// Name of the class whose braces are around the token; "" if there is none.
std::string class_around(const Tokens& tokens, std::size_t at) {
  for (std::size_t i = at; i-- > 0;) {
    if (closes(tokens[i])) {
      i = opening_of(tokens, i);
      if (i == k_no_token) return "";
      continue;
    }
    if (tokens[i].text != "{") continue;
    for (std::size_t word = statement_begin(tokens, i); word + 1 < i; ++word)
      if (is_one_of(tokens[word].text, {"struct", "class", "union"}) && tokens[word + 1].is_name())
        return tokens[word + 1].text;
    return "";
  }
  return "";
}

void add_body(const Tokens& tokens, std::size_t body, std::size_t at, FunctionText& function) {
  const std::size_t end = std::min(closing_of(tokens, body), tokens.size());
  for (std::size_t i = body; i < end; ++i) {
    const bool begins = is_one_of(tokens[i].text, {"{", ";", "}"}) ||
                        (tokens[i].text == "(" && i > 0 && is_control(tokens[i - 1].text));
    if (begins && i < at) {
      std::size_t last = i + 1;
      while (last < end && !is_one_of(tokens[last].text, {";", "}"}))
        last = opens(tokens[last]) ? std::max(last, closing_of(tokens, last)) + 1 : last + 1;
      for (const std::size_t name : declared_in(tokens, i + 1, std::min(last, end)))
        function.locals.push_back(tokens[name].text);
    }
    if (tokens[i].text != "return" || i + 2 >= end) continue;
    std::size_t name = i + 1;
    if (i + 5 < end && tokens[i + 1].text == "std" && tokens[i + 3].text == "move") name = i + 5;
    if (tokens[name].is_name() && name + 1 < end && is_one_of(tokens[name + 1].text, {";", ")"}))
      function.returned.push_back(tokens[name].text);
  }
}

} // namespace

std::size_t closing_of(const Tokens& tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < tokens.size(); ++at) {
    depth += opens(tokens[at]) ? 1 : closes(tokens[at]) ? -1 : 0;
    if (depth == 0) return at;
  }
  return tokens.size();
}

std::size_t opening_of(const Tokens& tokens, std::size_t close) {
  int depth = 0;
  for (std::size_t at = close + 1; at-- > 0;) {
    depth += closes(tokens[at]) ? 1 : opens(tokens[at]) ? -1 : 0;
    if (depth == 0) return at;
  }
  return k_no_token;
}

std::vector<std::pair<std::size_t, std::size_t>> list_items(const Tokens& tokens, std::size_t begin,
                                                            std::size_t end) {
  std::vector<std::pair<std::size_t, std::size_t>> items;
  std::size_t first = begin;
  for (std::size_t at = begin; at < end; ++at) {
    if (opens(tokens[at])) {
      at = closing_of(tokens, at);
    } else if (tokens[at].text == ",") {
      items.emplace_back(first, at);
      first = at + 1;
    }
  }
  if (first < end) items.emplace_back(first, end);
  return items;
}

std::size_t statement_begin(const Tokens& tokens, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0) {
    const std::size_t before = begin - 1;
    if (tokens[before].text == ";" || (tokens[before].text == "{" && !opens_list(tokens, before)))
      break;
    if (tokens[before].text == "}" && begin < tokens.size() &&
        !is_one_of(tokens[begin].text, {",", ")", "]", ".", "->", ";", "("})) {
      // "Mesh(int n) : a{n} {" continues after a list.
      const std::size_t open = opening_of(tokens, before);
      if (open == k_no_token || tokens[begin].text != "{" || !opens_list(tokens, open)) break;
    }
    if (tokens[before].text == "(" && before > 0 && is_control(tokens[before - 1].text)) break;
    if (tokens[before].text == ":" && before > 0 &&
        is_one_of(tokens[before - 1].text, {"public", "private", "protected", "default"}))
      break;
    if (closes(tokens[before])) {
      const std::size_t open = opening_of(tokens, before);
      if (open == k_no_token) break;
      if (open > 0 && is_control(tokens[open - 1].text)) break;
      begin = open;
    } else {
      begin = before;
    }
  }
  while (begin < at && is_one_of(tokens[begin].text, {"else", "do"}))
    ++begin;
  return begin;
}

std::vector<std::size_t> declared_in(const Tokens& tokens, std::size_t begin, std::size_t end) {
  std::vector<std::size_t> names;
  std::size_t at = behind_type(tokens, begin, end);
  if (at == begin) return names;
  while (at < end) {
    at = behind_pointers(tokens, at, end);
    if (const std::size_t name = pointer_to_array(tokens, at, end); name != k_no_token) {
      names.push_back(name);
    } else {
      if (at >= end || !tokens[at].is_name()) break;
      if (at + 1 < end && !is_one_of(tokens[at + 1].text, {"=", "(", "{", "[", ";", ",", ":"}))
        break;
      names.push_back(at);
    }
    while (at < end && tokens[at].text != ",")
      at = opens(tokens[at]) ? closing_of(tokens, at) + 1 : at + 1;
    ++at;
  }
  return names;
}

std::size_t initialisers_of(const Tokens& tokens, std::size_t begin, std::size_t end) {
  const Header header = header_in(tokens, begin, end);
  if (header.open == k_no_token || header.name.empty()) return k_no_token;
  std::size_t at = closing_of(tokens, header.open) + 1;
  if (at < end && tokens[at].text == "noexcept") ++at;
  return at < end && tokens[at].text == ":" ? at + 1 : k_no_token;
}

FunctionText function_around(const Tokens& tokens, std::size_t at) {
  FunctionText function;
  const auto describe = [&](const Header& header, std::size_t begin) {
    function.known = true;
    if (header.open != k_no_token)
      function.parameters = parameters_in(tokens, header.open, closing_of(tokens, header.open));
    if (header.name.empty()) return;
    std::string owner = class_around(tokens, begin);
    if (header.name.size() > 1) owner = header.name[header.name.size() - 2];
    function.is_member = !owner.empty();
    function.name = header.name.back();
    function.is_constructor = function.is_member && function.name == owner;
    for (std::size_t i = initialisers_of(tokens, begin, tokens.size()); i < tokens.size();) {
      while (i + 1 < tokens.size() && !is_one_of(tokens[i + 1].text, {"(", "{", "<", ";"}))
        ++i;
      function.initialised.push_back(tokens[i].text);
      i = closing_of(tokens, behind_template_arguments(tokens, i + 1, tokens.size())) + 1;
      if (i >= tokens.size() || tokens[i].text != ",") break;
      ++i; // to the next
    }
  };
  const std::size_t statement = statement_begin(tokens, at);
  if (const std::size_t first = initialisers_of(tokens, statement, at + 1);
      first != k_no_token && first <= at) {
    describe(header_in(tokens, statement, at + 1), statement);
    return function;
  }
  for (std::size_t i = at; i-- > 0;) {
    if (closes(tokens[i])) {
      i = opening_of(tokens, i);
      if (i == k_no_token) break;
      continue;
    }
    if (tokens[i].text != "{") continue;
    const std::size_t begin = statement_begin(tokens, i);
    Header header;
    if (opens_lambda(tokens, i, begin, header)) {
      describe(header, begin);
      add_body(tokens, i, at, function);
      return function;
    }
    if (opens_list(tokens, i) || begin == i || is_control(tokens[begin].text)) continue;
    // A condition is no part of the statement after it.
    if (begin > 1 && tokens[begin - 1].text == ")" && opening_of(tokens, begin - 1) > 0 &&
        is_control(tokens[opening_of(tokens, begin - 1) - 1].text))
      continue;
    const std::size_t word = behind_template(tokens, begin, i);
    if (is_one_of(tokens[word].text, {"struct", "class", "union"})) {
      if (header_in(tokens, begin, i).open == k_no_token || tokens[i - 1].text != ")") {
        function.is_member = true; // where it is declared
        return function;
      }
    }
    if (is_one_of(tokens[word].text, {"namespace", "extern"}) && tokens[i - 1].text != ")") break;
    header = header_in(tokens, begin, i);
    if (header.open == k_no_token) continue;
    describe(header, begin);
    add_body(tokens, i, at, function);
    return function;
  }
  return function;
}

} // namespace omptier
