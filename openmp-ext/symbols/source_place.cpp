// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See source_place.hpp. Goes from a call outwards, bracket by bracket, to what gets its value.
#include "symbols/source_place.hpp"

#include <algorithm>

namespace omptier {
namespace {

// Methods that store their argument or allocate.
bool is_container_method(const std::string& name) {
  return is_one_of(name, {"resize", "reserve", "assign", "append", "insert", "push_back",
                          "push_front", "emplace", "emplace_back", "emplace_front", "try_emplace",
                          "insert_or_assign", "push", "reset"});
}

bool is_element_method(const std::string& name) {
  return is_one_of(name, {"at", "front", "back", "data", "get"});
}

// Functions that return their argument.
bool is_transparent(const std::string& name) {
  return is_one_of(name, {"static_cast", "reinterpret_cast", "const_cast", "move", "forward",
                          "unique_ptr", "shared_ptr", "vector", "optional", "make_pair",
                          "make_tuple", "make_optional", "pair", "tuple"});
}

class Reader {
public:
  Reader(const Tokens& tokens, std::size_t at) : tokens_(tokens), at_(at) {}

  std::optional<SourcePlace> place();

private:
  const std::string& text(std::size_t at) const {
    static const std::string k_none;
    return at < tokens_.size() ? tokens_[at].text : k_none;
  }
  std::string before(std::size_t at) const { return at > 0 ? text(at - 1) : std::string(); }

  bool find_call();
  std::size_t name_in_front(std::size_t open) const;
  std::size_t begin_of_name(std::size_t name) const;
  std::size_t begin_of_operand(std::size_t last) const;
  Target target_ending_at(std::size_t last) const;
  Target target_in(std::size_t begin, std::size_t end) const;
  Fate stored(Target target) const { return {Fate::Kind::stored, std::move(target)}; }
  Fate fate_of(std::size_t begin) const;
  Fate fate_in(std::size_t open) const;
  Fate fate_of_declared(std::size_t name) const;
  Fate fate_of_call() const;
  bool makes_pointer(std::size_t name) const;
  bool is_cast(std::size_t close) const;
  std::size_t back_to(std::size_t at, std::initializer_list<std::string_view> ends) const;

  const Tokens& tokens_;
  std::size_t at_;
  std::size_t callee_ = k_no_token; // the name that is called or declared, or "new"
  std::size_t open_ = k_no_token;   // the bracket of its arguments
};

// "name(", "name<int>{": the name; "new T[": "new".
std::size_t Reader::name_in_front(std::size_t open) const {
  if (open == 0) return k_no_token;
  std::size_t name = open - 1;
  if (text(name) == ">") {
    int depth = 0;
    for (;; --name) {
      depth += text(name) == ">" ? 1 : text(name) == "<" ? -1 : 0;
      if (depth == 0 || name == 0) break;
    }
    if (name == 0) return k_no_token;
    --name;
  }
  return tokens_[name].is_name() ? name : k_no_token;
}

// The begin of the qualified name: "std::make" for the name make.
std::size_t Reader::begin_of_name(std::size_t name) const {
  while (name > 1 && text(name - 1) == "::" && tokens_[name - 2].is_name())
    name -= 2;
  return name;
}

// "a->b[3].c" ending at the token.
std::size_t Reader::begin_of_operand(std::size_t last) const {
  std::size_t at = last;
  for (;;) {
    while (is_one_of(text(at), {"]", ")"})) {
      const std::size_t open = opening_of(tokens_, at);
      if (open == k_no_token || open == 0) return at;
      const bool called =
          text(at) == "]" || tokens_[open - 1].is_name() || is_one_of(text(open - 1), {"]", ")"});
      at = called ? open - 1 : open;
      if (!called) return at;
    }
    if (at < tokens_.size() && tokens_[at].is_name()) at = begin_of_name(at);
    if (at < 2 || !is_one_of(text(at - 1), {".", "->"})) return at;
    at -= 2;
  }
}

Target Reader::target_ending_at(std::size_t last) const {
  Target target;
  for (std::size_t at = last; at < tokens_.size();) {
    while (text(at) == "]") {
      target.reached = true;
      const std::size_t open = opening_of(tokens_, at);
      if (open == k_no_token || open == 0) return {};
      at = open - 1;
    }
    if (text(at) == ")") {
      const std::size_t open = opening_of(tokens_, at);
      if (open == k_no_token || open == 0) return {};
      if (tokens_[open - 1].is_name()) { // "rows.at(3)" is of rows
        if (!is_element_method(text(open - 1)) || open < 3 ||
            !is_one_of(text(open - 2), {".", "->"}))
          return {};
        target.reached = true;
        at = open - 3;
        continue;
      }
      Target inner = target_in(open + 1, at);
      if (inner.path.empty()) return {};
      inner.path.insert(inner.path.end(), target.path.begin(), target.path.end());
      inner.reached = inner.reached || target.reached;
      return inner;
    }
    if (!tokens_[at].is_name()) return {};
    if (text(at) == "this") {
      target.of_this = true;
      return target;
    }
    target.path.insert(target.path.begin(), text(at));
    const std::size_t begin = begin_of_name(at);
    if (begin < 2 || !is_one_of(text(begin - 1), {".", "->"})) {
      target.reached = target.reached ||
                       (begin > 0 && text(begin - 1) == "*" && begin_of_operand(last) == begin &&
                        begin > 1 && is_one_of(text(begin - 2), {";", "{", "}", "(", ",", ")"}));
      return target;
    }
    target.reached = true;
    at = begin - 2;
  }
  return {};
}

// "(void**)&grid->rho", "reinterpret_cast<void**>(&rho)", "*out": a variable and nothing else.
Target Reader::target_in(std::size_t begin, std::size_t end) const {
  bool pointed = false;
  while (begin < end) {
    if (is_one_of(text(begin), {"&", "*"})) {
      pointed = pointed || text(begin) == "*";
      ++begin;
      continue;
    }
    const std::size_t close = text(begin) == "(" ? closing_of(tokens_, begin) : end;
    if (close + 1 < end && is_cast(close)) {
      begin = close + 1;
      continue;
    }
    if (const std::size_t open = text(end - 1) == ")" ? opening_of(tokens_, end - 1) : k_no_token;
        open != k_no_token && open > begin) {
      const std::size_t name = name_in_front(open);
      if (name != k_no_token && begin_of_name(name) == begin &&
          is_one_of(text(name),
                    {"static_cast", "reinterpret_cast", "ref", "move", "forward", "addressof"})) {
        begin = open + 1;
        --end;
        continue;
      }
    }
    break;
  }
  if (begin >= end || begin_of_operand(end - 1) != begin) return {};
  Target target = target_ending_at(end - 1);
  target.reached = target.reached || pointed;
  return target;
}

// "(double*)", "(struct grid *)" in front of an operand.
bool Reader::is_cast(std::size_t close) const {
  const std::size_t open = opening_of(tokens_, close);
  if (text(close) != ")" || open == k_no_token || open + 1 >= close) return false;
  if (open > 0 && (tokens_[open - 1].is_name() ? !is_one_of(text(open - 1), {"return", "case"})
                                               : is_one_of(text(open - 1), {")", "]", ">"})))
    return false;
  bool named = false;
  for (std::size_t at = open + 1; at < close; ++at) {
    if (tokens_[at].is_name())
      named = true;
    else if (!is_one_of(text(at), {"*", "&", "::", "<", ">", "[", "]", ","}))
      return false;
  }
  return named && tokens_[open + 1].is_name();
}

// After the nearest of these tokens, skipping brackets; 0 if there is none.
std::size_t Reader::back_to(std::size_t at, std::initializer_list<std::string_view> ends) const {
  while (at > 0 && !is_one_of(text(at - 1), ends)) {
    at = is_one_of(text(at - 1), {")", "]"}) ? opening_of(tokens_, at - 1) : at - 1;
    if (at == k_no_token) return 0;
  }
  return at;
}

// begin: of an expression.
Fate Reader::fate_of(std::size_t begin) const {
  while (begin > 0) {
    const std::string& left = text(begin - 1);
    if (is_cast(begin - 1)) {
      begin = opening_of(tokens_, begin - 1);
    } else if (left == "=") {
      if (begin < 2) return {};
      const std::size_t last = begin - 2;
      Target target = target_ending_at(last);
      if (!target.path.empty() || target.of_this) return stored(std::move(target));
      if (text(last) != "]") return {};
      // "double (*rows)[n] = malloc(…)"
      const auto names = declared_in(tokens_, statement_begin(tokens_, last), last + 1);
      if (names.empty() || before(names.back()) != "*") return {};
      target.path = {text(names.back())};
      return stored(std::move(target));
    } else if (is_one_of(left, {"return", "co_return"})) {
      return {Fate::Kind::returned, {}};
    } else if (is_one_of(left, {"?", ":"})) {
      // "a ? b : here", "a ? here : b": the value is that of the whole expression.
      const std::size_t at = back_to(begin - 1, {"=", "return", "(", "{", ";", "}", ","});
      if (at == 0 || is_one_of(text(at - 1), {";", "{", "}"})) return {};
      begin = at;
    } else if (is_one_of(left, {"(", "{"})) {
      const std::size_t open = begin - 1;
      if (left == "(" && name_in_front(open) == k_no_token && before(open) != "]" &&
          before(open) != ")") {
        begin = open; // for order only
        continue;
      }
      return fate_in(open);
    } else if (left == ",") {
      const std::size_t at = back_to(begin - 1, {"(", "{", ";", "}"});
      if (at == 0 || is_one_of(text(at - 1), {";", "}"})) return {};
      return fate_in(at - 1);
    } else {
      return {};
    }
  }
  return {};
}

// For an argument of a call or an item of a list.
Fate Reader::fate_in(std::size_t open) const {
  const std::size_t name = name_in_front(open);
  if (name == k_no_token) {
    if (text(open) != "{") return {};
    const std::string left = before(open);
    if (left == "=") return fate_of(open);
    if (left == "return") return {Fate::Kind::returned, {}};
    if (is_one_of(left, {"{", ","})) return fate_of(open);
    return {};
  }
  if (is_one_of(text(name), {"if", "while", "for", "switch", "sizeof", "return", "do", "else"}))
    return text(name) == "return" ? Fate{Fate::Kind::returned, {}} : Fate{};
  if (const Fate declared = fate_of_declared(name); declared.kind != Fate::Kind::unknown)
    return declared;
  const bool method = name > 1 && is_one_of(text(name - 1), {".", "->"});
  if (method && is_container_method(text(name))) {
    Target target = target_ending_at(name - 2);
    return target.path.empty() ? Fate{} : stored(std::move(target));
  }
  if (!method && (is_transparent(text(name)) || makes_pointer(name)))
    return fate_of(begin_of_name(name));
  return {};
}

// "double* grid = checked(malloc(n))": a pointer made from memory stands for that memory.
bool Reader::makes_pointer(std::size_t name) const {
  const std::size_t begin = begin_of_name(name);
  return begin > 2 && text(begin - 1) == "=" && text(begin - 3) == "*";
}

// "Type name(…), other{…}", ": member(…)".
Fate Reader::fate_of_declared(std::size_t name) const {
  const std::size_t begin = statement_begin(tokens_, name);
  Target target;
  target.path = {text(name)};
  if (const std::size_t first = initialisers_of(tokens_, begin, name + 2);
      first != k_no_token && first <= name) {
    if (!is_one_of(before(name), {":", ","})) return {};
    target.of_this = true;
    return stored(std::move(target));
  }
  std::size_t end = name + 1;
  if (is_one_of(text(end), {"(", "{", "["})) end = closing_of(tokens_, end) + 1;
  const auto names = declared_in(tokens_, begin, end);
  if (std::ranges::find(names, name) == names.end()) return {};
  return stored(std::move(target));
}

Fate Reader::fate_of_call() const {
  if (text(callee_) == "new") {
    const std::size_t begin = before(callee_) == "operator" ? callee_ - 1 : callee_;
    return fate_of(before(begin) == "::" ? begin - 1 : begin);
  }
  if (const std::size_t begin = begin_of_name(callee_); before(begin) == "new")
    return fate_of(begin - 1); // clang's column of "new std::vector<double>(n)" is at "std"
  if (const Fate declared = fate_of_declared(callee_); declared.kind != Fate::Kind::unknown)
    return declared;
  if (open_ == k_no_token) return fate_of(begin_of_operand(callee_));
  if (text(callee_).find("memalign") != std::string::npos ||
      text(callee_).find("lloc") != std::string::npos) {
    // "posix_memalign(&grid, …)", "cudaMalloc(&grid, …)"
    const auto items = list_items(tokens_, open_ + 1, closing_of(tokens_, open_));
    if (!items.empty()) {
      const auto [first, last] = items.front();
      const bool to_address = std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(first),
                                          tokens_.begin() + static_cast<std::ptrdiff_t>(last),
                                          [](const Token& token) { return token.text == "&"; });
      if (to_address || text(callee_) == "posix_memalign")
        if (Target target = target_in(first, last); !target.path.empty()) {
          target.reached = true;
          return stored(std::move(target));
        }
    }
  }
  if (callee_ > 1 && is_one_of(before(callee_), {".", "->"})) {
    if (is_container_method(text(callee_))) {
      Target target = target_ending_at(callee_ - 2);
      return target.path.empty() ? Fate{} : stored(std::move(target));
    }
    return fate_of(begin_of_operand(callee_));
  }
  return fate_of(begin_of_name(callee_));
}

// The call or declaration at the place.
bool Reader::find_call() {
  std::size_t at = at_;
  if (is_one_of(text(at), {")", "]", "}"})) {
    at = opening_of(tokens_, at);
    if (at == k_no_token) return false;
  }
  if (text(at) == "(" && before(at) == "]") { // "new T[n]()"
    at = opening_of(tokens_, at - 1);
    if (at == k_no_token) return false;
  }
  if (is_one_of(text(at), {".", "->", "::"})) ++at;
  while (at + 2 < tokens_.size() && tokens_[at].is_name() &&
         is_one_of(text(at + 1), {".", "->", "::"}) && tokens_[at + 2].is_name())
    at += 2; // from an object to its method
  if (is_one_of(text(at), {"(", "{", "["})) {
    open_ = at;
    callee_ = name_in_front(at);
    if (callee_ == k_no_token && text(at) != "[") return false;
    const std::size_t begin = callee_ == k_no_token ? at : begin_of_name(callee_);
    for (std::size_t behind = begin; behind > 0 && begin - behind < 39; --behind) {
      const std::size_t back = behind - 1;
      if (text(back) == "new") {
        // "new T[n]", "new (std::align_val_t(64)) T[n]".
        callee_ = back;
        return true;
      }
      if (is_one_of(text(back), {";", "{", "}", "=", ","}) ||
          (text(at) != "[" && text(back) != "::"))
        break;
    }
    return callee_ != k_no_token && text(at) != "[";
  }
  if (!tokens_[at].is_name()) return false;
  callee_ = at;
  std::size_t behind = at + 1;
  if (text(behind) == "<") {
    int depth = 0;
    for (; behind < tokens_.size(); ++behind) {
      depth += text(behind) == "<" ? 1 : text(behind) == ">" ? -1 : 0;
      if (depth == 0 || is_one_of(text(behind), {";", "{"})) break;
    }
    ++behind;
  }
  if (text(callee_) != "new" && is_one_of(text(behind), {"(", "{"})) open_ = behind;
  return true;
}

std::optional<SourcePlace> Reader::place() {
  SourcePlace place;
  place.function = function_around(tokens_, at_);
  if (text(at_) == "=") {
    place.fate = fate_of(at_ + 1);
    return place;
  }
  if (!find_call()) return std::nullopt;
  if (is_one_of(before(callee_), {"struct", "class"})) {
    // A constructor that is not written in the source: the class itself.
    place.fate = {Fate::Kind::stored, {{}, true, true}};
    place.function = {};
    place.function.known = place.function.is_member = place.function.is_constructor = true;
    return place;
  }
  place.fate = fate_of_call();
  if (callee_ > 1 && is_one_of(before(callee_), {".", "->"})) {
    place.object = target_ending_at(callee_ - 2);
    place.has_object = !place.object.path.empty();
  }
  if (open_ != k_no_token && text(open_) != "[")
    for (const auto& [begin, end] : list_items(tokens_, open_ + 1, closing_of(tokens_, open_)))
      place.arguments.push_back(target_in(begin, end));
  return place;
}

} // namespace

bool allocates_by_name(const std::string& name) {
  return name == "new" || name == "strdup" || name.find("lloc") != std::string::npos ||
         name.find("memalign") != std::string::npos || name.find("make_") != std::string::npos;
}

std::optional<SourcePlace> place_at(const Tokens& tokens, std::size_t at) {
  return Reader(tokens, at).place();
}

} // namespace omptier
