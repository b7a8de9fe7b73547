// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shortens demangled names (declared in symbols.hpp): a name from the standard library may have
// four hundred letters, most of them template arguments.
#include "symbols/symbols.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace omptier {
namespace {

constexpr std::size_t k_short_arguments = 12; // of a template, that stay: "<double, 3>"

bool is_in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

class Shortening {
public:
  explicit Shortening(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size() && step()) {}
    return short_.empty() ? std::string(text_) : short_;
  }

private:
  // False at the function's arguments.
  bool step() {
    if (takes_operator()) return true;
    const char c = text_[at_];
    if (c == '(') return skips_scope();
    if (c == '<') return skip_template();
    if (c == ' ') // what stood before was the type of the result
      short_.clear();
    else if (c == '{')
      return take_braces();
    else
      short_ += c;
    ++at_;
    return true;
  }

  // "operator<", "operator()", "operator bool": none of these opens a list.
  bool takes_operator() {
    constexpr std::string_view k_word = "operator";
    if (!text_.substr(at_).starts_with(k_word)) return false;
    if (at_ > 0 && is_in_name(text_[at_ - 1])) return false;
    const std::size_t begin = at_ + k_word.size();
    if (begin < text_.size() && is_in_name(text_[begin])) return false;
    constexpr std::array k_signs = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
                                    ">>", "<=", ">=",  "->",  "<",   ">"};
    const std::string_view rest = text_.substr(begin);
    const auto sign =
        std::ranges::find_if(k_signs, [&](const char* s) { return rest.starts_with(s); });
    std::size_t length = 0;
    if (sign != k_signs.end())
      length = std::string_view(*sign).size();
    else
      length = std::min(rest.find('('), rest.size());
    short_ += text_.substr(at_, k_word.size() + length);
    at_ = begin + length;
    if (sign != k_signs.end() && text_.substr(at_).starts_with(" <")) ++at_; // "operator< <int>"
    return true;
  }

  // After the bracket that closes the one at `from`, counting brackets of its kind.
  std::size_t behind(std::size_t from) const {
    const char open = text_[from], close = open == '<' ? '>' : open == '(' ? ')' : '}';
    std::size_t depth = 0, round = 0;
    for (std::size_t i = from; i < text_.size(); ++i) {
      const char c = text_[i];
      if (open == '<' && (c == '(' || c == ')')) round += c == '(' ? 1 : std::size_t(-1);
      if (round != 0 || (open == '<' && c == '>' && text_[i - 1] == '-')) continue;
      if (c == open) ++depth;
      if (c == close && --depth == 0) return i + 1;
    }
    return text_.size();
  }

  // "main(int)::Local::run(int)": of an enclosing function only the name.
  bool skips_scope() {
    std::size_t end = behind(at_);
    if (text_.substr(end).starts_with(" const")) end += 6;
    if (short_.empty() || !text_.substr(end).starts_with("::")) return short_.empty() && take(end);
    at_ = end;
    return true;
  }

  bool skip_template() {
    const std::size_t end = behind(at_);
    const std::string_view arguments = text_.substr(at_, end - at_);
    const bool stays = arguments.size() <= k_short_arguments;
    short_ += stays ? arguments : std::string_view("<…>");
    at_ = end;
    return true;
  }

  // "{lambda(int, double)#1}": without its arguments.
  bool take_braces() {
    const std::size_t end = behind(at_);
    const std::string_view braces = text_.substr(at_, end - at_);
    const auto open = braces.find('('), close = braces.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
      return take(end);
    short_ += braces.substr(0, open);
    short_ += braces.substr(close + 1);
    at_ = end;
    return true;
  }

  bool take(std::size_t end) {
    short_ += text_.substr(at_, end - at_);
    at_ = end;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string short_;
};

} // namespace

std::string short_function(std::string function) {
  for (const std::string_view noise : {"(anonymous namespace)::", "[abi:cxx11]"})
    for (auto at = function.find(noise); at != std::string::npos; at = function.find(noise))
      function.erase(at, noise.size());
  std::string name = Shortening(function).run();
  const auto outlined = name.find(".omp_outlined");
  return outlined == std::string::npos ? name : name.substr(0, outlined);
}

} // namespace omptier
